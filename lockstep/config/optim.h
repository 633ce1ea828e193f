// SPDX-License-Identifier: Apache-2.0
// Settings of the `optim` section: the update rule and the learning rate over
// time.
#pragma once

#include <cstdint>

namespace lockstep {

enum class OptimKind { sgd, adam, adamw, lars, lamb };
enum class ScheduleKind { constant, step, cosine, linear, square, range };
// How the learning rate follows the global batch (batch/learning_rate_rules.h).
enum class LrRule { none, linear, square_root, legw };
enum class WarmupFrom { zero, base };

// Rules that keep a mean and a square of each gradient; the others keep a
// momentum, where there is one.
constexpr bool keeps_square(OptimKind kind) {
  return kind == OptimKind::adam || kind == OptimKind::adamw ||
         kind == OptimKind::lamb;
}
// Rules that measure each tensor before they change it.
constexpr bool is_layerwise(OptimKind kind) {
  return kind == OptimKind::lars || kind == OptimKind::lamb;
}

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
  double trust_coefficient = 0.001;
  bool trust_clip = false;
  ScheduleKind schedule = ScheduleKind::constant;
  std::int64_t step_epochs = 30;
  double step_factor = 0.1;
  double final_lr_share = 0;
  double range_from = 1e-6;
  double warmup_epochs = 0;
  WarmupFrom warmup_from = WarmupFrom::zero;
  LrRule lr_rule = LrRule::none;
  std::int64_t base_batch = 0;
  std::int64_t lookahead_steps = 0;
};

template <class Visitor>
void describe(Visitor& v, OptimConfig& c) {
  v.choice("kind", c.kind, {"sgd", "adam", "adamw", "lars", "lamb"},
           "update rule");
  v.real("lr", c.lr, {.min = 0}, "learning rate at its highest");
  v.real("momentum", c.momentum, {.min = 0, .max = 1}, "sgd, lars: momentum");
  v.flag("nesterov", c.nesterov, "sgd, lars: look ahead along the momentum");
  v.real("weight_decay", c.weight_decay, {.min = 0},
         "pull of parameters to zero (adamw: decoupled from the gradient)");
  v.flag("decay_norm_and_bias", c.decay_norm_and_bias,
         "weight decay on normalisation and bias parameters too");
  v.real("beta1", c.beta1, {.min = 0, .max = 1}, "adam, lamb: mean's memory");
  v.real("beta2", c.beta2, {.min = 0, .max = 1}, "adam, lamb: square's memory");
  v.real("eps", c.eps, {.min = 0},
         "adam, lamb: added to the root of the square; lars: to the norms");
  v.real("trust_coefficient", c.trust_coefficient, {.min = 0},
         "lars: a tensor's step is this share of its norm, times `lr`");
  v.flag("trust_clip", c.trust_clip,
         "lars: no tensor's rate above `lr` (LARC); lamb: no ratio above 1");
  v.choice("schedule", c.schedule,
           {"constant", "step", "cosine", "linear", "square", "range"},
           "learning rate over time, after warm-up; range: a test that rises "
           "from `range_from` to `lr`");
  v.number("step_epochs", c.step_epochs, {.min = 1},
           "schedule step: epochs between two drops");
  v.real("step_factor", c.step_factor, {.min = 0, .max = 1},
         "schedule step: the learning rate is multiplied by this");
  v.real(
      "final_lr_share", c.final_lr_share, {.min = 0, .max = 1},
      "schedule cosine, linear, square: share of `lr` that is left at the end");
  v.real("range_from", c.range_from, {.min = 1e-30},
         "schedule range: the rate it begins with");
  v.real("warmup_epochs", c.warmup_epochs, {.min = 0},
         "epochs in which the learning rate rises evenly to `lr`");
  v.choice("warmup_from", c.warmup_from, {"zero", "base"},
           "where warm-up begins; base: at `lr` as it was before `lr_rule`");
  v.choice("lr_rule", c.lr_rule, {"none", "linear", "square_root", "legw"},
           "`lr` was tuned at `base_batch`: how it grows with the batch");
  v.number("base_batch", c.base_batch, {.min = 0, .max = 1 << 30},
           "global batch at which `lr` was tuned; 0: the first batch of "
           "batch.mode adaptive");
  v.number("lookahead_steps", c.lookahead_steps, {.min = 0, .max = 10'000},
           "every so many steps draw the parameters to their running average, "
           "more as training goes on; 0: never");
}

}  // namespace lockstep
