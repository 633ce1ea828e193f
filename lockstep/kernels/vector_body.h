// SPDX-License-Identifier: Apache-2.0
// Vectors of 4, 8 and 16 floats for kernel bodies: the compiler's own vector
// types, so + and * work and become the instructions the file is compiled for.
// For files compiled for one instruction set only; everything is unnamed.
#pragma once

namespace lockstep {
namespace {

// Loose is the same vector in memory at any address.
struct Float4 {
  static constexpr int kLanes = 4;
  typedef float Type __attribute__((vector_size(16)));
  typedef float Loose __attribute__((vector_size(16), aligned(4), may_alias));
};
struct Float8 {
  static constexpr int kLanes = 8;
  typedef float Type __attribute__((vector_size(32)));
  typedef float Loose __attribute__((vector_size(32), aligned(4), may_alias));
};
struct Float16 {
  static constexpr int kLanes = 16;
  typedef float Type __attribute__((vector_size(64)));
  typedef float Loose __attribute__((vector_size(64), aligned(4), may_alias));
};

template <class V>
[[maybe_unused]] inline typename V::Type load(const float* from) {
  return *reinterpret_cast<const typename V::Loose*>(from);
}

template <class V>
[[maybe_unused]] inline void store(float* to, typename V::Type value) {
  *reinterpret_cast<typename V::Loose*>(to) = value;
}

// Halves added to each other until one lane is left.
[[maybe_unused]] inline float sum(Float4::Type v) {
  return (v[0] + v[2]) + (v[1] + v[3]);
}
[[maybe_unused]] inline float sum(Float8::Type v) {
  return sum(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
             __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
[[maybe_unused]] inline float sum(Float16::Type v) {
  return sum(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}

}  // namespace
}  // namespace lockstep
