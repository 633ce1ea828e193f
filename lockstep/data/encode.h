// SPDX-License-Identifier: Apache-2.0
// Pictures and sounds to files, for stand-ins and tests.
#pragma once

#include <filesystem>
#include <span>

#include "lockstep/data/image.h"

namespace lockstep {

// Both throw Error{Fault::store} when the file cannot be written.
void write_jpeg(const std::filesystem::path& path, const Image& image,
                int quality);
// One channel, 16 bits; values outside -1 … 1 are cut.
void write_wav(const std::filesystem::path& path, std::span<const float> sound,
               int rate_hz);

}  // namespace lockstep
