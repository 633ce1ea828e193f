// SPDX-License-Identifier: Apache-2.0
// Where a larger batch stops helping: epoch time falls with the batch on each
// device down to a floor. Two straight lines on logarithmic axes, falling then
// flat, fitted to all batch sizes of one model, device and number of ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

struct BatchTime {
  double per_rank = 0;  // samples a device and step
  Estimate epoch_s;
};

struct Saturation {
  double per_rank = 0, low = 0, high = 0;  // where the lines meet, 95 %
  double slope = 0;    // of ln(time) over ln(batch) before; -1: time ~ 1/batch
  double floor_s = 0;  // the flat part
  double rms = 0;      // of ln(time): how far the two lines miss
  std::string note = {};  // empty, or why it is no more than a bound
};

// Fewer than four batch sizes: per_rank is NaN and the note says so.
Saturation saturation_of(std::span<const BatchTime> times);

struct SaturationRow {
  std::string model, strategy, hardware, arm;
  std::int64_t ranks = 1;
  Origin origin = Origin::measured;
  Saturation at;
};

// One row for each model, strategy and number of ranks with enough batch sizes.
std::vector<SaturationRow> saturations_of(const Study& study);

}  // namespace lockstep
