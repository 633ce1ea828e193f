// SPDX-License-Identifier: Apache-2.0
// What the convolution kernels share: the shape of a warp's work, the order of
// packed weights, and how rows of a signal or of a gradient come to shared
// memory.
#pragma once

#include "lockstep/cuda/conv1d.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {

// Rows of `channels` elements at this distance, in elements: eight of them lie
// in different banks when it is an odd number of 16 bytes.
__host__ __device__ constexpr int pitch_of(int channels) {
  return channels / 8 % 2 == 1 ? channels : channels + 8;
}

// Steps of 16 along the product's inner side that are loaded at once.
inline constexpr int kStageSteps = 10;

__host__ __device__ constexpr int stages_of(int inner) {
  return (inner + 16 * kStageSteps - 1) / (16 * kStageSteps);
}

// The right operand of one step as a warp's lanes want it: pairs of 8-column
// tiles, 16 bytes a lane, then a single one of 8.
template <int kTiles>
__device__ inline void load_right(std::uint32_t (&b)[kTiles][2],
                                  const char* step, int lane) {
#pragma unroll
  for (int pair = 0; pair < kTiles / 2; ++pair) {
    const uint4 r =
        *reinterpret_cast<const uint4*>(step + pair * 512 + lane * 16);
    b[2 * pair][0] = r.x, b[2 * pair][1] = r.y;
    b[2 * pair + 1][0] = r.z, b[2 * pair + 1][1] = r.w;
  }
  if constexpr (kTiles % 2 == 1) {
    const uint2 r =
        *reinterpret_cast<const uint2*>(step + kTiles / 2 * 512 + lane * 8);
    b[kTiles - 1][0] = r.x, b[kTiles - 1][1] = r.y;
  }
}

// Eight channels of the gradient before pooling, at one position.
__device__ inline Eight unpooled(const bf16* grad, const std::uint8_t* where,
                                 std::int64_t at, int place) {
  const Eight g = *reinterpret_cast<const Eight*>(grad + at);
  const uint2 w = *reinterpret_cast<const uint2*>(where + at);
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const unsigned word = i < 4 ? w.x : w.y;
    const int here = static_cast<int>((word >> (8 * (i % 4))) & 255u);
    out.v[i] = here == place ? g.v[i] : bf16(0.f);
  }
  return out;
}

// Rows `first` .. of the gradient before pooling to shared memory; zeros where
// there is no position.
template <int kChannels, int kPitch, int kPool>
__device__ inline void load_unpooled(bf16* rows, int count, int first,
                                     const bf16* grad,
                                     const std::uint8_t* where, int windows) {
  constexpr int kEights = kChannels / 8;
  for (int i = static_cast<int>(threadIdx.x); i < count * kEights;
       i += static_cast<int>(blockDim.x)) {
    const int row = i / kEights, c = i % kEights * 8;
    const int position = first + row;
    Eight e = {};
    if (position >= 0 && position < windows * kPool) {
      const int window = position / kPool;
      e = unpooled(grad, where,
                   static_cast<std::int64_t>(window) * kChannels + c,
                   position % kPool);
    }
    *reinterpret_cast<Eight*>(rows + row * kPitch + c) = e;
  }
}

// The same of a signal of `length` rows. kMask: channels from `real` on are
// zeros whatever lies there.
template <int kChannels, int kPitch, bool kMask>
__device__ inline void load_signal(bf16* rows, int count, int first,
                                   const bf16* signal, int length, int real) {
  constexpr int kEights = kChannels / 8;
  for (int i = static_cast<int>(threadIdx.x); i < count * kEights;
       i += static_cast<int>(blockDim.x)) {
    const int row = i / kEights, c = i % kEights * 8;
    const int position = first + row;
    Eight e = {};
    if (position >= 0 && position < length)
      e = *reinterpret_cast<const Eight*>(
          signal + static_cast<std::int64_t>(position) * kChannels + c);
    if constexpr (kMask)
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if (c + k >= real) e.v[k] = bf16(0.f);
    *reinterpret_cast<Eight*>(rows + row * kPitch + c) = e;
  }
}

// One channel, eight times, each copy beginning an element later than the one
// before: so a window may begin anywhere and its 16 bytes still be aligned.
template <int kPitch>
__device__ inline void load_shifted(bf16* copies, int count, int first,
                                    const float* signal, int length) {
  for (int i = static_cast<int>(threadIdx.x); i < count;
       i += static_cast<int>(blockDim.x)) {
    const int position = first + i;
    const bool there = position >= 0 && position < length;
    const bf16 v = __float2bfloat16(there ? signal[position] : 0.f);
#pragma unroll
    for (int copy = 0; copy < 8; ++copy)
      if (i >= copy) copies[copy * kPitch + i - copy] = v;
  }
}

// ReLU and maximum of one column over the tiles of a window, written with its
// neighbour's.
struct Pooled {
  float value;
  int place;
};
template <int kPool>
__device__ inline Pooled pool_of(const float (&v)[kPool], float bias) {
  Pooled out{v[0], 0};
#pragma unroll
  for (int i = 1; i < kPool; ++i)
    if (v[i] > out.value) out = {v[i], i};
  out.value += bias;
  // Not a number stays what it is, as in ReLU.
  if (out.value <= 0.f) out = {0.f, kCutOff};
  return out;
}

__device__ inline void store_pooled(bf16* output, std::uint8_t* where,
                                    std::int64_t at, const Pooled& a,
                                    const Pooled& b) {
  *reinterpret_cast<__nv_bfloat162*>(output + at) =
      __floats2bfloat162_rn(a.value, b.value);
  *reinterpret_cast<uchar2*>(where + at) = {
      static_cast<unsigned char>(a.place), static_cast<unsigned char>(b.place)};
}

}  // namespace lockstep
