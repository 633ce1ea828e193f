// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/price.h"

#include <cmath>

#include "lockstep/batch/goodput.h"
#include "lockstep/batch/learning_rate_rules.h"

namespace lockstep {
namespace {

constexpr double kHourS = 3600;

// A batch whose way to the target was itself measured. A noise scale joins all
// batches and evens out single runs, so it goes first.
const TargetReached* measured_at(const Goal& goal, double batch) {
  return goal.evidence && goal.noise_scale <= 0 ? goal.evidence->at(batch)
                                                : nullptr;
}

// By the noise scale where it is known (AdaScale), else in proportion.
double rate_for(const Goal& goal, double batch) {
  if (const TargetReached* run = measured_at(goal, batch)) return run->lr;
  if (goal.base_lr <= 0) return 0;
  if (goal.noise_scale > 0)
    return goal.base_lr *
           adascale_gain_of_noise(goal.noise_scale, goal.base_batch, batch);
  return linear_lr(goal.base_lr, goal.base_batch, batch);
}

// Of one sample against one at the base batch.
double progress_at(const Goal& goal, double batch) {
  if (const TargetReached* run = measured_at(goal, batch))
    return goal.samples / run->samples;
  if (goal.noise_scale <= 0) return 1;
  return statistical_efficiency(goal.noise_scale, goal.base_batch, batch);
}

// Steps and their time are off independently of each other.
double combined(double step_ratio, double samples_log_half) {
  return std::exp(std::hypot(std::log(step_ratio), samples_log_half));
}

}  // namespace

Choice priced(Choice choice, const Goal& goal) {
  const Prediction& p = choice.prediction;
  const auto batch = static_cast<double>(p.question.global_batch());
  choice.progress = progress_at(goal, batch);
  const double steps = goal.samples / choice.progress / batch;
  choice.time_s = steps * p.time.step_s;
  const double half = goal.evidence ? goal.evidence->log_half_90 : 0;
  choice.lo90_s = choice.time_s / combined(p.time.step_s / p.step_s.lo90, half);
  choice.hi90_s = choice.time_s * combined(p.step_s.hi90 / p.time.step_s, half);
  choice.device_hours = choice.time_s / kHourS * p.question.ranks;
  choice.money = goal.price_per_device_hour > 0
                     ? choice.device_hours * goal.price_per_device_hour
                     : std::nan("");
  choice.lr = rate_for(goal, batch);
  return choice;
}

}  // namespace lockstep
