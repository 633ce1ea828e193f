// SPDX-License-Identifier: Apache-2.0
// The update rules as torch.optim's documentation writes them, in double and
// one element at a time. What the fused kernels are compared with.
#pragma once

#include <cmath>
#include <cstdint>

namespace lockstep {

struct ReferenceState {
  double value = 0, first = 0, second = 0;
};

struct ReferenceSettings {
  double lr = 0, weight_decay = 0, momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool decoupled_decay = false;
};

inline ReferenceState reference_sgd(ReferenceState s, double grad,
                                    const ReferenceSettings& c) {
  grad += c.weight_decay * s.value;
  if (c.momentum != 0) {
    s.first = c.momentum * s.first + grad;
    grad = c.nesterov ? grad + c.momentum * s.first : s.first;
  }
  s.value -= c.lr * grad;
  return s;
}

// `step` is 1 for the first update.
inline ReferenceState reference_adam(ReferenceState s, double grad,
                                     const ReferenceSettings& c,
                                     std::int64_t step) {
  if (c.decoupled_decay)
    s.value -= c.lr * c.weight_decay * s.value;
  else
    grad += c.weight_decay * s.value;
  s.first = c.beta1 * s.first + (1 - c.beta1) * grad;
  s.second = c.beta2 * s.second + (1 - c.beta2) * grad * grad;
  const double n = static_cast<double>(step);
  const double mean = s.first / (1 - std::pow(c.beta1, n));
  const double square = s.second / (1 - std::pow(c.beta2, n));
  s.value -= c.lr * mean / (std::sqrt(square) + c.eps);
  return s;
}

}  // namespace lockstep
