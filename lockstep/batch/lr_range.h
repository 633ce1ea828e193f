// SPDX-License-Identifier: Apache-2.0
// What a learning-rate range test says: the loss of each step against a rate
// that rises from step to step (Smith 2017).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace lockstep {

struct RangeResult {
  std::vector<double> smooth;  // the loss, averaged over the steps before it
  double steepest_lr = 0;      // where it falls fastest: a rate to train with
  double lowest_lr = 0;        // where it is lowest: already too high
  // Where it is above twice its first fall again, or no number; nothing when
  // the test ended before.
  std::optional<double> diverged_lr;
};

// Rates rise, one loss each. Error{Fault::data} for fewer than 20 steps, or
// when the loss never falls.
RangeResult judge_range(std::span<const double> lr,
                        std::span<const double> loss);

}  // namespace lockstep
