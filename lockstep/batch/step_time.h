// SPDX-License-Identifier: Apache-2.0
// Seconds of a step against the batch of one rank: as measured, or the line
// t = a + b m through the measurements.
#pragma once

#include <optional>
#include <span>

namespace lockstep {

struct StepTime {
  double per_rank_batch = 0;
  double step_s = 0;
};

struct LinearStepTime {
  double fixed_s = 0;       // a: launches, messages
  double per_sample_s = 0;  // b: one more sample on a rank
  double max_relative_error = 0;
  double at(double per_rank_batch) const {
    return fixed_s + per_sample_s * per_rank_batch;
  }
};

// Least squares of the relative error, so that small batches count as much as
// large ones. Error{Fault::data} for fewer than two sizes or a bad number.
LinearStepTime fit_linear_step_time(std::span<const StepTime> points);

// Linear between the measurements next to it. Beyond the largest measured
// batch the step is cut into equal passes that fit, each at full price. Nothing
// below the smallest: that would be a guess. `points` in order of batch.
std::optional<double> measured_step_s(std::span<const StepTime> points,
                                      double per_rank_batch);

}  // namespace lockstep
