// SPDX-License-Identifier: Apache-2.0
// Fused optimiser updates on the CPU: one pass over values, gradients and
// state. The rules are torch.optim's; update_reference.h states them plainly.
#pragma once

#include <cstdint>

#include "lockstep/kernels/isa.h"

namespace lockstep {

// Ranges of equal length in the flat buffers. `first` is momentum or Adam's
// mean, `second` Adam's square; null where the rule has none.
struct UpdateSpan {
  float* values = nullptr;
  float* grads = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  std::int64_t numel = 0;
};

// What every element shares, already worked out in double for this step.
struct SgdRule {
  float lr = 0, weight_decay = 0, momentum = 0, grad_scale = 1;
  bool nesterov = false, zero_grads = true;
};

struct AdamRule {
  float step_size = 0;          // lr / (1 - beta1^step)
  float inverse_root_bias = 1;  // 1 / sqrt(1 - beta2^step)
  float take1 = 0;              // 1 - beta1
  float beta2 = 0, take2 = 0;   // take2 = 1 - beta2
  float eps = 0, grad_scale = 1;
  float keep = 1;          // adamw: 1 - lr * weight_decay
  float weight_decay = 0;  // adam: added to the gradient
  bool zero_grads = true;
};

// LAMB in two passes: the length of the whole tensor's step lies between them.
struct LambRule {
  float inverse_bias1 = 1;      // 1 / (1 - beta1^step)
  float inverse_root_bias = 1;  // 1 / sqrt(1 - beta2^step)
  float take1 = 0;              // 1 - beta1
  float beta2 = 0, take2 = 0;   // take2 = 1 - beta2
  float eps = 0, grad_scale = 1, weight_decay = 0;
  bool zero_grads = true;
};

// On all threads the caller may use. The result does not depend on how many:
// elements are split at fixed places and never mixed.
void sgd_update(const UpdateSpan& span, const SgdRule& rule,
                Isa isa = best_isa());
void adam_update(const UpdateSpan& span, const AdamRule& rule,
                 Isa isa = best_isa());
// Moves the moments on; returns the Euclidean length of the step that follows
// from them, summed as norm_of() does.
double lamb_moments(const UpdateSpan& span, const LambRule& rule,
                    Isa isa = best_isa());
// Takes that step times `rate`.
void lamb_apply(const UpdateSpan& span, const LambRule& rule, double rate,
                Isa isa = best_isa());
// Euclidean length, summed in double in an order that does not depend on the
// number of threads.
double norm_of(const float* values, std::int64_t numel, Isa isa = best_isa());

}  // namespace lockstep
