// SPDX-License-Identifier: Apache-2.0
// The loops of update.h, written once and compiled for each instruction set by
// the three files that include this one. No standard templates in here: an
// inline function compiled for AVX-512 must never be linked into plain code.
#pragma once

#include "lockstep/kernels/update_table.h"

namespace lockstep {
namespace {

// The switches are template parameters: inside the loop they would keep the
// compiler from using vectors.
template <bool kMomentum, bool kNesterov, bool kZero>
void sgd_loop(const UpdateSpan& span, const SgdRule& rule) {
  float* __restrict values = span.values;
  float* __restrict grads = span.grads;
  float* __restrict first = span.first;
  const SgdRule r = rule;
  for (std::int64_t i = 0; i < span.numel; ++i) {
    float d = grads[i] * r.grad_scale + r.weight_decay * values[i];
    if constexpr (kMomentum) {
      const float m = r.momentum * first[i] + d;
      first[i] = m;
      d = kNesterov ? d + r.momentum * m : m;
    }
    values[i] -= r.lr * d;
    if constexpr (kZero) grads[i] = 0;
  }
}

template <bool kZero>
void sgd_choose(const UpdateSpan& span, const SgdRule& rule) {
  if (rule.momentum == 0)
    sgd_loop<false, false, kZero>(span, rule);
  else if (rule.nesterov)
    sgd_loop<true, true, kZero>(span, rule);
  else
    sgd_loop<true, false, kZero>(span, rule);
}

void sgd(const UpdateSpan& span, const SgdRule& rule) {
  rule.zero_grads ? sgd_choose<true>(span, rule)
                  : sgd_choose<false>(span, rule);
}

template <bool kZero>
void adam_loop(const UpdateSpan& span, const AdamRule& rule) {
  float* __restrict values = span.values;
  float* __restrict grads = span.grads;
  float* __restrict first = span.first;
  float* __restrict second = span.second;
  const AdamRule r = rule;
  for (std::int64_t i = 0; i < span.numel; ++i) {
    const float g = grads[i] * r.grad_scale + r.weight_decay * values[i];
    const float m = first[i] + r.take1 * (g - first[i]);
    const float v = r.beta2 * second[i] + r.take2 * g * g;
    first[i] = m;
    second[i] = v;
    const float root = __builtin_sqrtf(v) * r.inverse_root_bias + r.eps;
    values[i] = values[i] * r.keep - r.step_size * m / root;
    if constexpr (kZero) grads[i] = 0;
  }
}

void adam(const UpdateSpan& span, const AdamRule& rule) {
  rule.zero_grads ? adam_loop<true>(span, rule) : adam_loop<false>(span, rule);
}

// Sixteen sums side by side: the order of addition is the same for every
// instruction set.
double sum_of_squares(const float* values, std::int64_t numel) {
  constexpr int kLanes = 16;
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= numel; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const double v = values[i + lane];
      sums[lane] += v * v;
    }
  for (int lane = 0; i < numel; ++i, ++lane) {
    const double v = values[i];
    sums[lane] += v * v;
  }
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

float lamb_step(const LambRule& r, float value, float first, float second) {
  const float root = __builtin_sqrtf(second) * r.inverse_root_bias + r.eps;
  return first * r.inverse_bias1 / root + r.weight_decay * value;
}

// Blocks of the step's elements on the stack, then their squares: a sum in
// double inside the loop of floats would keep the compiler from using vectors.
double lamb_moments(const UpdateSpan& span, const LambRule& rule) {
  constexpr int kBlock = 256;
  const LambRule r = rule;
  float steps[kBlock];
  double total = 0;
  for (std::int64_t begin = 0; begin < span.numel; begin += kBlock) {
    const std::int64_t left = span.numel - begin;
    const std::int64_t count = left < kBlock ? left : kBlock;
    float* __restrict values = span.values + begin;
    float* __restrict grads = span.grads + begin;
    float* __restrict first = span.first + begin;
    float* __restrict second = span.second + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = grads[i] * r.grad_scale;
      first[i] += r.take1 * (g - first[i]);
      second[i] = r.beta2 * second[i] + r.take2 * g * g;
      steps[i] = lamb_step(r, values[i], first[i], second[i]);
    }
    if (r.zero_grads)
      for (std::int64_t i = 0; i < count; ++i) grads[i] = 0;
    total += sum_of_squares(steps, count);
  }
  return total;
}

void lamb_apply(const UpdateSpan& span, const LambRule& rule, float rate) {
  float* __restrict values = span.values;
  const float* __restrict first = span.first;
  const float* __restrict second = span.second;
  const LambRule r = rule;
  for (std::int64_t i = 0; i < span.numel; ++i)
    values[i] -= rate * lamb_step(r, values[i], first[i], second[i]);
}

}  // namespace
}  // namespace lockstep
