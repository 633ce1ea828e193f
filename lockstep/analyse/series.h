// SPDX-License-Identifier: Apache-2.0
// Step times as statistics wants them. Neighbouring steps resemble each other,
// so a thousand steps say less than a thousand numbers would: blocks longer
// than that resemblance are nearly independent, and everything rests on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// Intervals of what was measured. Predictions give 90 %.
constexpr double kMeasuredLevel = 0.95;

// Steps until a series has forgotten where it was: the sum of its
// autocorrelations (Geyer's initial positive sequence), 1 when there are none.
// Spikes are clipped first; they would hide everything else.
double correlation_steps(std::span<const double> values);

// Shortest block: its median must not follow a single spike.
constexpr std::size_t kShortestBlock = 5;
// More blocks would only be shorter.
constexpr std::size_t kMostBlocks = 40;

// Twice the correlation, or longer where there are values enough for it.
std::size_t block_length(std::span<const double> values);
// Of whole blocks, in order; what is left over at the front is dropped.
std::vector<double> block_medians(std::span<const double> values,
                                  std::size_t length);

// A median with its interval, and draws of its logarithm by block bootstrap:
// from them ratios get theirs. One value, or too few blocks: no interval (NaN)
// and no draws.
struct Estimate {
  double value = 0, low = 0, high = 0;
  std::size_t count = 0, blocks = 0;
  std::vector<double> log_draws = {};

  bool has_interval() const { return !log_draws.empty(); }
};

struct Resampling {
  int draws = 400;
  std::uint64_t seed =
      1;  // of its own for each run: draws must not go together
};

// Values must be positive and finite; others are passed over.
Estimate estimate_median(std::span<const double> values,
                         const Resampling& how = {});

// Several runs of one configuration: the geometric mean, with the spread
// between runs in its interval.
Estimate pool(std::span<const Estimate> runs, const Resampling& how = {});

// top / bottom, draw by draw; no interval when one of them has none.
Estimate ratio(const Estimate& top, const Estimate& bottom);

// A value nobody repeated.
Estimate single_value(double value);

}  // namespace lockstep
