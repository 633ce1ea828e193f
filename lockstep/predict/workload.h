// SPDX-License-Identifier: Apache-2.0
// A profile made ready for questions: what one device does in one pass at any
// batch size, and when each gradient is there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/plan/comm_plan.h"
#include "lockstep/plan/profile.h"

namespace lockstep {

// One pass over a batch, in seconds.
struct PassTime {
  double forward_s = 0, backward_s = 0;
  // For each parameter, seconds from the beginning of backward to its gradient.
  std::vector<double> ready_s = {};
};

struct Workload {
  Profile profile;
  ParamList params;
  bool estimated = false;  // no device was measured
  // One standard deviation of ln(compute time).
  double compute_spread = 0.05;
  // At each of the profile's batch sizes.
  std::vector<PassTime> at = {};
  std::vector<double> overhead_s = {};

  double optimizer_s() const { return profile.optimizer_s; }
};

// Of one weight: gradients are fp32 in memory, whatever the precision.
constexpr double kGradientBytes = 4;

// Spread of a measured step from one run to the next, at the least.
constexpr double kProfileSpread = 0.03;

Workload make_workload(Profile profile, bool estimated);

// Timing each layer costs time itself: their sum may not exceed the step. What
// the layers' times at a batch (a position in `batches`) are multiplied by.
double fit_to_step(const Profile& profile, std::size_t batch);

// A step that one device was seen to take at a batch size.
struct SeenStep {
  std::int64_t batch = 0;
  double step_s = 0;
};

// `work` with the steps as they were seen, at two or more batch sizes in rising
// order: each layer keeps its share of the step, memory is as it was.
Workload with_steps(const Workload& work, std::span<const SeenStep> seen);

// `batch` may be a fraction: a mean over uneven shares.
PassTime pass_at(const Workload& work, double batch);
// What a step takes beyond its passes and update.
double overhead_at(const Workload& work, double batch);

// Seconds one device needs for each layer (forward + backward) at a batch; the
// loss counts with the last.
std::vector<double> layer_times(const Workload& work, double batch);

}  // namespace lockstep
