// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep {
namespace {

// From 1 at the end of warm-up to 0 at the end of training.
double left(const OptimConfig& config, double epoch, double total_epochs) {
  const double length = total_epochs - config.warmup_epochs;
  if (length <= 0) return 1;
  return 1 - std::clamp((epoch - config.warmup_epochs) / length, 0.0, 1.0);
}

double share(const OptimConfig& config, double epoch, double total_epochs) {
  const double end = config.final_lr_share;
  switch (config.schedule) {
    case ScheduleKind::constant:
      return 1;
    case ScheduleKind::step:
      return std::pow(
          config.step_factor,
          std::floor(epoch / static_cast<double>(config.step_epochs)));
    case ScheduleKind::cosine: {
      const double angle =
          std::numbers::pi * (1 - left(config, epoch, total_epochs));
      return end + (1 - end) * 0.5 * (1 + std::cos(angle));
    }
    case ScheduleKind::linear:
      return end + (1 - end) * left(config, epoch, total_epochs);
    case ScheduleKind::square: {
      const double rest = left(config, epoch, total_epochs);
      return end + (1 - end) * rest * rest;
    }
    case ScheduleKind::range:
      // Evenly on the logarithm: as many steps from 1e-4 to 1e-3 as from 0.01
      // to 0.1.
      return std::pow(config.range_from / config.lr,
                      left(config, epoch, total_epochs));
  }
  return 1;
}

}  // namespace

double learning_rate(const OptimConfig& config, double epoch,
                     double total_epochs) {
  if (epoch < config.warmup_epochs)
    return config.lr * epoch / config.warmup_epochs;
  return config.lr * share(config, epoch, total_epochs);
}

}  // namespace lockstep
