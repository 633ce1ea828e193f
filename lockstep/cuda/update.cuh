// SPDX-License-Identifier: Apache-2.0
// How a block walks over its chunk of the flat buffers: four elements at a time
// between the first and last place that allow it. What happens to an element is
// a functor's: void operator()(const Rule&, Element&), with kWritesValues and
// kWritesState. Null buffers are neither read nor written.
#pragma once

#include "lockstep/cuda/update.h"

namespace lockstep {

inline constexpr int kUpdateThreads = 256;

// What an element needs to know of its update.
struct Rule {
  UpdateRates r;
  float weight_decay, momentum, take1, beta2, take2, eps;
  bool nesterov, decoupled_decay, zero;
};

struct Element {
  float value, grad, first, second;
};

__device__ inline Rule rule_of(const UpdateNumbers& n,
                               const UpdateChunk& chunk) {
  return {n.rates ? *n.rates : n.now,
          chunk.flags & kDecay ? n.weight_decay : 0.f,
          n.momentum,
          n.take1,
          n.beta2,
          n.take2,
          n.eps,
          n.nesterov,
          n.decoupled_decay,
          (chunk.flags & kZero) != 0};
}

// What LAMB would move an element by at a rate of 1.
__device__ inline float lamb_step(const Rule& n, const Element& e) {
  const float root = sqrtf(e.second) / sqrtf(n.r.correction2) + n.eps;
  return e.first / n.r.correction1 / root + n.weight_decay * e.value;
}

__device__ inline float4 load4(const float* p, std::int64_t i) {
  return p ? *reinterpret_cast<const float4*>(p + i) : float4{};
}
__device__ inline void store4(float* p, std::int64_t i, float4 v) {
  if (p) *reinterpret_cast<float4*>(p + i) = v;
}
__device__ inline float load1(const float* p, std::int64_t i) {
  return p ? p[i] : 0.f;
}
__device__ inline void store1(float* p, std::int64_t i, float v) {
  if (p) p[i] = v;
}

template <class Op>
__device__ void take_one(const UpdatePointers& p, const Rule& n, Op& op,
                         std::int64_t i) {
  Element e{load1(p.values, i), load1(p.grads, i), load1(p.first, i),
            load1(p.second, i)};
  op(n, e);
  if constexpr (Op::kWritesValues) store1(p.values, i, e.value);
  if constexpr (Op::kWritesState) {
    if (n.zero) store1(p.grads, i, 0.f);
    store1(p.first, i, e.first);
    store1(p.second, i, e.second);
  }
}

template <class Op>
__device__ void take_four(const UpdatePointers& p, const Rule& n, Op& op,
                          std::int64_t i) {
  float4 value = load4(p.values, i), grad = load4(p.grads, i);
  float4 first = load4(p.first, i), second = load4(p.second, i);
  Element x{value.x, grad.x, first.x, second.x};
  Element y{value.y, grad.y, first.y, second.y};
  Element z{value.z, grad.z, first.z, second.z};
  Element w{value.w, grad.w, first.w, second.w};
  op(n, x), op(n, y), op(n, z), op(n, w);
  if constexpr (Op::kWritesValues)
    store4(p.values, i, {x.value, y.value, z.value, w.value});
  if constexpr (Op::kWritesState) {
    if (n.zero) store4(p.grads, i, float4{});
    store4(p.first, i, {x.first, y.first, z.first, w.first});
    store4(p.second, i, {x.second, y.second, z.second, w.second});
  }
}

// All threads of a block of kUpdateThreads call it. Which thread takes which
// element is fixed, and so is the order in which a thread takes them.
template <class Op>
__device__ void take_chunk(const UpdatePointers& p, const UpdateChunk& chunk,
                           const Rule& rule, Op& op) {
  const std::int64_t end = chunk.begin + chunk.numel;
  const std::int64_t t = threadIdx.x;
  if (p.offset < 0) {
    for (std::int64_t i = chunk.begin + t; i < end; i += kUpdateThreads)
      take_one(p, rule, op, i);
    return;
  }
  // Where four elements lie in 16 aligned bytes.
  const std::int64_t first4 =
      min((chunk.begin + p.offset + 3) / 4 * 4 - p.offset, end);
  const std::int64_t last4 = max((end + p.offset) / 4 * 4 - p.offset, first4);
  if (chunk.begin + t < first4) take_one(p, rule, op, chunk.begin + t);
#pragma unroll 2
  for (std::int64_t i = first4 + 4 * t; i < last4; i += 4 * kUpdateThreads)
    take_four(p, rule, op, i);
  if (last4 + t < end) take_one(p, rule, op, last4 + t);
}

}  // namespace lockstep
