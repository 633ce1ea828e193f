// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step: the schedule over time (optim/schedule.h) with
// the rule that makes it follow the batch (batch/learning_rate_rules.h).
#pragma once

#include "lockstep/config/optim.h"

namespace lockstep {

struct RatePoint {
  double epoch = 0, total_epochs = 1;  // see learning_rate()
  double global_batch = 1;
  double gain = 1;  // AdaScale's; adam and its like take the root
};

double learning_rate_at(const OptimConfig& config, const RatePoint& at);

// The settings as optim.lr_rule changes them at this batch.
OptimConfig ruled(const OptimConfig& config, double global_batch);

}  // namespace lockstep
