// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/price.h"

#include <cmath>

#include "lockstep/batch/goodput.h"
#include "lockstep/batch/learning_rate_rules.h"

namespace lockstep {
namespace {

constexpr double kHourS = 3600;

// By the noise scale where it is known (AdaScale), else in proportion.
double rate_for(const Goal& goal, double batch) {
  if (goal.base_lr <= 0) return 0;
  if (goal.noise_scale > 0)
    return goal.base_lr *
           adascale_gain_of_noise(goal.noise_scale, goal.base_batch, batch);
  return linear_lr(goal.base_lr, goal.base_batch, batch);
}

}  // namespace

Choice priced(Choice choice, const Goal& goal) {
  const Prediction& p = choice.prediction;
  const auto batch = static_cast<double>(p.question.global_batch());
  if (goal.noise_scale > 0)
    choice.progress =
        statistical_efficiency(goal.noise_scale, goal.base_batch, batch);
  const double steps = goal.samples / choice.progress / batch;
  choice.time_s = steps * p.time.step_s;
  choice.lo90_s = steps * p.step_s.lo90;
  choice.hi90_s = steps * p.step_s.hi90;
  choice.device_hours = choice.time_s / kHourS * p.question.ranks;
  choice.money = goal.price_per_device_hour > 0
                     ? choice.device_hours * goal.price_per_device_hour
                     : std::nan("");
  choice.lr = rate_for(goal, batch);
  return choice;
}

}  // namespace lockstep
