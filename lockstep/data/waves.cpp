// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/waves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lockstep/data/random.h"

namespace lockstep {
namespace {

constexpr int kWaves = 3;
constexpr std::int64_t kMaxCycles = 8;

}  // namespace

std::vector<float> class_waves(const std::vector<std::int64_t>& input,
                               std::uint64_t seed) {
  const std::int64_t width = input.back();
  const std::int64_t height = input.size() > 1 ? input[input.size() - 2] : 1;
  const std::int64_t channels = input.size() > 2 ? input.front() : 1;
  Random random(seed);
  std::vector<float> out(static_cast<std::size_t>(channels * height * width));
  const auto cycles = [&](std::int64_t side) {
    const auto most =
        static_cast<std::uint64_t>(std::min(kMaxCycles, side / 2));
    return static_cast<double>(most == 0 ? 0 : 1 + random.below(most)) * 2 *
           std::numbers::pi / static_cast<double>(side);
  };
  for (int wave = 0; wave < kWaves * channels; ++wave) {
    const double across = cycles(width), down = cycles(height);
    const double phase = 2 * std::numbers::pi * random.unit();
    float* plane = out.data() + wave % channels * height * width;
    for (std::int64_t i = 0; i < height * width; ++i)
      plane[i] += static_cast<float>(
          std::sin(across * static_cast<double>(i % width) +
                   down * static_cast<double>(i / width) + phase) /
          std::sqrt(kWaves / 2.0));  // a variance of one
  }
  return out;
}

std::vector<float> normal_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    const double angle = 2 * std::numbers::pi * random.unit();
    value = static_cast<float>(radius * std::cos(angle));
  }
  return values;
}

}  // namespace lockstep
