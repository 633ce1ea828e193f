// SPDX-License-Identifier: Apache-2.0
// GELU and its slope, in either form.
#pragma once

#include "lockstep/cuda/gelu.h"

namespace lockstep {

inline constexpr float kRootHalf = 0.70710678118654752f;    // sqrt(1 / 2)
inline constexpr float kDensity = 0.39894228040143268f;     // 1 / sqrt(2 pi)
inline constexpr float kTanhLinear = 0.79788456080286536f;  // sqrt(2 / pi)
inline constexpr float kTanhCubic = 0.044715f * kTanhLinear;

// (1 + tanh(z)) / 2 of the tanh form, z as x's polynomial.
__device__ inline float tanh_share(float x) {
  const float z = x * (kTanhLinear + kTanhCubic * x * x);
  return 1.f / (1.f + __expf(-2.f * z));
}

template <GeluKind kKind>
__device__ inline float gelu(float x) {
  if constexpr (kKind == GeluKind::tanh) return x * tanh_share(x);
  return 0.5f * x * (1.f + erff(x * kRootHalf));
}

template <GeluKind kKind>
__device__ inline float gelu_slope(float x) {
  if constexpr (kKind == GeluKind::tanh) {
    const float share = tanh_share(x);
    const float slope = kTanhLinear + 3.f * kTanhCubic * x * x;
    return share + 2.f * x * share * (1.f - share) * slope;
  }
  return 0.5f * (1.f + erff(x * kRootHalf)) +
         x * kDensity * __expf(-0.5f * x * x);
}

}  // namespace lockstep
