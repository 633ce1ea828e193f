// SPDX-License-Identifier: Apache-2.0
// Settings of the `optim` section: the update rule and the learning rate over
// time.
#pragma once

#include <cstdint>

namespace lockstep {

enum class OptimKind { sgd, adam, adamw };
enum class ScheduleKind { constant, step, cosine, linear };

struct OptimConfig {
  OptimKind kind = OptimKind::sgd;
  double lr = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_norm_and_bias = true;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  ScheduleKind schedule = ScheduleKind::constant;
  std::int64_t step_epochs = 30;
  double step_factor = 0.1;
  double final_lr_share = 0;
  double warmup_epochs = 0;
};

template <class Visitor>
void describe(Visitor& v, OptimConfig& c) {
  v.choice("kind", c.kind, {"sgd", "adam", "adamw"}, "update rule");
  v.real("lr", c.lr, {.min = 0}, "learning rate at its highest");
  v.real("momentum", c.momentum, {.min = 0, .max = 1}, "sgd: momentum");
  v.flag("nesterov", c.nesterov, "sgd: look ahead along the momentum");
  v.real("weight_decay", c.weight_decay, {.min = 0},
         "pull of parameters to zero (adamw: decoupled from the gradient)");
  v.flag("decay_norm_and_bias", c.decay_norm_and_bias,
         "weight decay on normalisation and bias parameters too");
  v.real("beta1", c.beta1, {.min = 0, .max = 1}, "adam: mean's memory");
  v.real("beta2", c.beta2, {.min = 0, .max = 1}, "adam: square's memory");
  v.real("eps", c.eps, {.min = 0}, "adam: added to the root of the square");
  v.choice("schedule", c.schedule, {"constant", "step", "cosine", "linear"},
           "learning rate over time, after warm-up");
  v.number("step_epochs", c.step_epochs, {.min = 1},
           "schedule step: epochs between two drops");
  v.real("step_factor", c.step_factor, {.min = 0, .max = 1},
         "schedule step: the learning rate is multiplied by this");
  v.real("final_lr_share", c.final_lr_share, {.min = 0, .max = 1},
         "schedule cosine, linear: share of `lr` that is left at the end");
  v.real("warmup_epochs", c.warmup_epochs, {.min = 0},
         "epochs in which the learning rate rises evenly from zero to `lr`");
}

}  // namespace lockstep
