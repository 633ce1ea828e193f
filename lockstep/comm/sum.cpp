// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/sum.h"

#include <cstring>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using From = std::span<const std::byte* const>;
using To = std::span<std::byte* const>;

// GCC's vector types: the same source becomes AVX2 in a function that asks for
// it and the machine's baseline elsewhere. Passed by reference only, since the
// two hand them over by value differently.
typedef float Floats __attribute__((vector_size(32)));
typedef std::int64_t Longs __attribute__((vector_size(32)));
typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint16_t Shorts __attribute__((vector_size(16)));

// A type on the wire: how many bytes fill one vector, and how they get there.
template <class Vector>
struct Plain {
  using V = Vector;
  static constexpr std::size_t kBytes = sizeof(V);
  [[gnu::always_inline]] static void load(V& v, const std::byte* at) {
    std::memcpy(&v, at, kBytes);
  }
  [[gnu::always_inline]] static void store(std::byte* at, const V& v) {
    std::memcpy(at, &v, kBytes);
  }
};

struct Bf16 {
  using V = Floats;
  static constexpr std::size_t kBytes = 16;
  [[gnu::always_inline]] static void load(V& v, const std::byte* at) {
    Shorts half;
    std::memcpy(&half, at, kBytes);
    const Words bits = __builtin_convertvector(half, Words) << 16;
    std::memcpy(&v, &bits, sizeof v);
  }
  [[gnu::always_inline]] static void store(std::byte* at, const V& v) {
    Words bits;
    std::memcpy(&bits, &v, sizeof v);
    const Words even = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const Words number = (Words)(v == v);  // NaN: rounding could make it inf
    const Words kept = (even & number) | (0x7fc0 & ~number);
    const Shorts half = __builtin_convertvector(kept, Shorts);
    std::memcpy(at, &half, kBytes);
  }
};

// The conversions of c10::Half (fp16_ieee_to_fp32_value and back), on vectors;
// they rest on IEEE arithmetic, not on the F16C instructions.
struct Fp16 {
  using V = Floats;
  static constexpr std::size_t kBytes = 16;
  [[gnu::always_inline]] static void load(V& v, const std::byte* at) {
    Shorts half;
    std::memcpy(&half, at, kBytes);
    const Words w = __builtin_convertvector(half, Words) << 16;
    const Words sign = w & 0x80000000, twice = w + w;
    const Words normal = (twice >> 4) + (0xE0U << 23);
    const Words small = (twice >> 17) | (126U << 23);
    Floats a, b;
    std::memcpy(&a, &normal, sizeof a);
    std::memcpy(&b, &small, sizeof b);
    a *= 0x1.0p-112F;
    b -= 0.5F;
    Words bits_a, bits_b;
    std::memcpy(&bits_a, &a, sizeof a);
    std::memcpy(&bits_b, &b, sizeof b);
    const Words is_small = (Words)(twice < (1U << 27));
    const Words bits = sign | (bits_b & is_small) | (bits_a & ~is_small);
    std::memcpy(&v, &bits, sizeof v);
  }
  [[gnu::always_inline]] static void store(std::byte* at, const V& v) {
    Words w;
    std::memcpy(&w, &v, sizeof v);
    const Words twice = w + w, magnitude = w & 0x7fffffff;
    Floats base, shift;
    std::memcpy(&base, &magnitude, sizeof base);
    base = (base * 0x1.0p+112F) * 0x1.0p-110F;  // too large becomes infinite
    Words bias = twice & 0xFF000000;
    const Words is_small = (Words)(bias < 0x71000000U);
    bias = (bias & ~is_small) | (0x71000000U & is_small);
    bias = (bias >> 1) + 0x07800000;
    std::memcpy(&shift, &bias, sizeof shift);
    base += shift;  // rounds the mantissa to ten bits
    Words bits;
    std::memcpy(&bits, &base, sizeof bits);
    const Words value = ((bits >> 13) & 0x7C00) + (bits & 0x0FFF);
    const Words nan = (Words)(twice > 0xFF000000U);
    const Words kept = (w & 0x80000000) >> 16 | (0x7E00 & nan) | (value & ~nan);
    const Shorts half = __builtin_convertvector(kept, Shorts);
    std::memcpy(at, &half, kBytes);
  }
};

template <class Wire, std::size_t kVectors>
[[gnu::always_inline]] inline void sum_at(From from, To to, std::size_t at) {
  typename Wire::V sum[kVectors], next;
  for (std::size_t k = 0; k < kVectors; ++k)
    Wire::load(sum[k], from[0] + at + k * Wire::kBytes);
  for (std::size_t r = 1; r < from.size(); ++r)
    for (std::size_t k = 0; k < kVectors; ++k) {
      Wire::load(next, from[r] + at + k * Wire::kBytes);
      sum[k] += next;
    }
  for (std::byte* out : to)
    for (std::size_t k = 0; k < kVectors; ++k)
      Wire::store(out + at + k * Wire::kBytes, sum[k]);
}

// The last elements fill no vector: they are summed in a padded copy.
template <class Wire>
[[gnu::always_inline]] inline void sum_tail(From from, To to, std::size_t at,
                                            std::size_t bytes) {
  typename Wire::V sum, next;
  std::byte padded[Wire::kBytes] = {};
  std::memcpy(padded, from[0] + at, bytes);
  Wire::load(sum, padded);
  for (std::size_t r = 1; r < from.size(); ++r) {
    std::memcpy(padded, from[r] + at, bytes);
    Wire::load(next, padded);
    sum += next;
  }
  Wire::store(padded, sum);
  for (std::byte* out : to) std::memcpy(out + at, padded, bytes);
}

template <class Wire>
[[gnu::always_inline]] inline void sum_all(From from, To to,
                                           std::size_t bytes) {
  constexpr std::size_t kUnroll = 4, kBlock = kUnroll * Wire::kBytes;
  std::size_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock)
    sum_at<Wire, kUnroll>(from, to, at);
  for (; at + Wire::kBytes <= bytes; at += Wire::kBytes)
    sum_at<Wire, 1>(from, to, at);
  if (at < bytes) sum_tail<Wire>(from, to, at, bytes - at);
}

[[gnu::always_inline]] inline void sum_typed(WireType type, From from, To to,
                                             std::size_t bytes) {
  switch (type) {
    case WireType::fp32:
      return sum_all<Plain<Floats>>(from, to, bytes);
    case WireType::int64:
      return sum_all<Plain<Longs>>(from, to, bytes);
    case WireType::bf16:
      return sum_all<Bf16>(from, to, bytes);
    case WireType::fp16:
      return sum_all<Fp16>(from, to, bytes);
  }
}

void sum_baseline(WireType type, From from, To to, std::size_t bytes) {
  sum_typed(type, from, to, bytes);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void sum_avx2(WireType type, From from, To to,
                                      std::size_t bytes) {
  sum_typed(type, from, to, bytes);
}
#endif

}  // namespace

void sum_in_rank_order(WireType type, From from, To to, std::int64_t numel) {
  check(!from.empty(), "a sum has a first rank");
  const auto bytes = static_cast<std::size_t>(numel * bytes_of(type));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_avx2(type, from, to, bytes);
#endif
  sum_baseline(type, from, to, bytes);
}

}  // namespace lockstep
