// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/learning_rate.h"

#include <cmath>

#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/optim/schedule.h"

namespace lockstep {

OptimConfig ruled(const OptimConfig& config, double global_batch) {
  OptimConfig out = config;
  const auto base = static_cast<double>(config.base_batch);
  switch (config.lr_rule) {
    case LrRule::none:
      break;
    case LrRule::linear:
      out.lr = linear_lr(config.lr, base, global_batch);
      break;
    case LrRule::square_root:
      out.lr = square_root_lr(config.lr, base, global_batch);
      break;
    case LrRule::legw: {
      const Legw rule =
          legw(config.lr, config.warmup_epochs, base, global_batch);
      out.lr = rule.lr, out.warmup_epochs = rule.warmup_epochs;
      break;
    }
  }
  return out;
}

double learning_rate_at(const OptimConfig& config, const RatePoint& at) {
  const OptimConfig now = ruled(config, at.global_batch);
  const double gain = keeps_square(config.kind) ? std::sqrt(at.gain) : at.gain;
  if (now.warmup_from == WarmupFrom::base && at.epoch < now.warmup_epochs)
    return gain * warmup_lr({config.lr, now.lr, now.warmup_epochs}, at.epoch);
  return gain * learning_rate(now, at.epoch, at.total_epochs);
}

}  // namespace lockstep
