// SPDX-License-Identifier: Apache-2.0
// Sound files as plain samples: one channel, at a wanted rate.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace lockstep {

// A whole sound file in -1 … 1, channels averaged, at `rate_hz`. Throws
// Error{Fault::data} that names the file.
std::vector<float> read_sound(const std::filesystem::path& path, int rate_hz);

// Another rate by a windowed sinc (Kaiser, about 80 dB), cut off below half
// the lower of the two rates: what the new rate cannot carry is taken out, not
// folded back.
std::vector<float> resample(std::span<const float> sound, int from_hz,
                            int to_hz);

}  // namespace lockstep
