// SPDX-License-Identifier: Apache-2.0
// LARS (You et al. 2017) and LAMB (You et al. 2020): each tensor's step in
// proportion to its own norm, so that none runs away in a large batch. Here the
// factor of a tensor's rate, from norms; constexpr, so a GPU computes it too.
#pragma once

#include <algorithm>

namespace lockstep {

struct TrustRule {
  double coefficient = 0;  // lars
  bool clip = false;       // LARC's and LAMBC's limit
};

// What LARS weighs a tensor's step by.
struct LarsNorms {
  double values = 0, gradient = 0;
  double weight_decay = 0, eps = 0, lr = 0;
};

// 1 where either norm is 0.
constexpr double lars_trust(const TrustRule& rule, const LarsNorms& n) {
  if (n.values == 0 || n.gradient == 0) return 1;
  const double trust = rule.coefficient * n.values /
                       (n.gradient + n.weight_decay * n.values + n.eps);
  return rule.clip ? std::min(trust / n.lr, 1.0) : trust;
}

constexpr double lamb_trust(const TrustRule& rule, double values, double step) {
  if (values == 0 || step == 0) return 1;
  return rule.clip ? std::min(values / step, 1.0) : values / step;
}

}  // namespace lockstep
