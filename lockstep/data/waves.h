// SPDX-License-Identifier: Apache-2.0
// What made-up samples are made of: a pattern for each class, and noise.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The pattern of one class over an input of [channels, height, width]: three
// waves a channel, one to eight cycles each way, with mean zero and variance
// one. A sound has height one and waves of one to samples / 40 cycles.
std::vector<float> class_waves(const std::vector<std::int64_t>& input,
                               std::uint64_t seed);

// Independent, mean zero, variance one (Box-Muller).
std::vector<float> normal_values(std::size_t count, std::uint64_t seed);

}  // namespace lockstep
