// SPDX-License-Identifier: Apache-2.0
// Runs that chose their batch themselves, as they went or by a pilot, against
// the fastest fixed batch of the same sweep: what choosing cost or brought.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/batch/compare.h"

namespace lockstep {

// All runs of one way to choose: same settings, first batch and ranks.
struct OwnChoice {
  std::string mode, arm;
  std::int64_t ranks = 1;
  std::size_t num_runs = 0, num_reached = 0;
  double first_batch = 0;                  // as set
  double lowest_end = 0, highest_end = 0;  // where they ended
  double best_accuracy = 0;                // mean over runs
  double pilot_s = 0;                      // mean over runs, in the time below
  double target_nats = 0;                  // the highest of the sweep's arms
  std::optional<double> time_s = {};       // mean over the runs that reach it
  // The one with the highest rate in that arm.
  double fixed_batch = 0;
  std::size_t fixed_runs = 0, fixed_reached = 0;
  std::optional<double> fixed_s = {};
  // Beyond the fixed one's, as a share of it.
  std::optional<double> extra_time() const {
    if (!time_s || !fixed_s) return std::nullopt;
    return *time_s / *fixed_s - 1;
  }
};

std::vector<OwnChoice> own_choices(std::span<const ChoosingRun> runs,
                                   std::span<const BatchComparison> comparisons,
                                   Crossing crossing);

}  // namespace lockstep
