// SPDX-License-Identifier: Apache-2.0
// Step times with a known truth: log-normal noise that remembers (an
// autoregression of order one), a chosen median and now and then a spike.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "lockstep/batch/special.h"

namespace lockstep {

struct MadeSeries {
  std::size_t count = 200;
  double middle = 1, spread = 0.05, phi = 0;
  double spikes = 0;  // share of steps that take three times as long
};

inline std::vector<double> made_series(const MadeSeries& m,
                                       std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 17);
  std::vector<double> out;
  double state = draw_normal(random);
  for (std::size_t i = 0; i < m.count; ++i) {
    state = m.phi * state + std::sqrt(1 - m.phi * m.phi) * draw_normal(random);
    double value = m.middle * std::exp(m.spread * state);
    if (draw_uniform(random) < m.spikes) value *= 3;
    out.push_back(value);
  }
  return out;
}

}  // namespace lockstep
