// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/waves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lockstep/data/random.h"

namespace lockstep {
namespace {

constexpr int kWaves = 3;  // a channel
constexpr std::int64_t kMaxCycles = 8;

// Few over a picture; a sound has them by the hundred.
double cycles(Random& random, std::int64_t side, bool sound) {
  const auto most = static_cast<std::uint64_t>(
      sound ? side / 40 : std::min(side / 2, kMaxCycles));
  return most == 0 ? 0 : static_cast<double>(1 + random.below(most));
}

// To mean zero and variance one.
void standardise(std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(values.size());
  const double mean = sum / n, deviation = std::sqrt(squares / n - mean * mean);
  for (float& v : values)
    v = static_cast<float>((static_cast<double>(v) - mean) / deviation);
}

}  // namespace

std::vector<float> class_waves(const std::vector<std::int64_t>& input,
                               std::uint64_t seed) {
  const std::int64_t width = input.back();
  const std::int64_t height = input.size() > 1 ? input[input.size() - 2] : 1;
  const std::int64_t channels = input.size() > 2 ? input.front() : 1;
  Random random(seed);
  std::vector<float> out(static_cast<std::size_t>(channels * height * width));
  for (std::int64_t wave = 0; wave < kWaves * channels; ++wave) {
    const double turn = 2 * std::numbers::pi;
    const double across =
        turn * cycles(random, width, height == 1) / static_cast<double>(width);
    const double down =
        turn * cycles(random, height, false) / static_cast<double>(height);
    const double phase = turn * random.unit();
    float* plane = out.data() + wave % channels * height * width;
    for (std::int64_t i = 0; i < height * width; ++i) {
      const std::int64_t y = i / width, x = i % width;
      plane[i] +=
          static_cast<float>(std::sin(across * static_cast<double>(x) +
                                      down * static_cast<double>(y) + phase));
    }
  }
  standardise(out);
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
