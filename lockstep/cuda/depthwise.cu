// SPDX-License-Identifier: Apache-2.0
// A thread keeps four channels and walks over strips of four neighbouring
// outputs, whose inputs overlap.
#include "lockstep/cuda/depthwise.h"

#include <algorithm>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {
namespace {

constexpr int kThreads = 256;
constexpr int kOwn = 4;  // channels of a thread
constexpr int kStrip = 4;
constexpr int kMaxBlocks = 132 * 9;
constexpr int kWeightBlocks = 132 * 3;

struct alignas(8) Four {
  bf16 v[kOwn];
};

struct Plane {
  const bf16* from = nullptr;
  bf16* to = nullptr;
  const float* weight = nullptr;
  int channels = 0;
  int from_height = 0, from_width = 0, to_height = 0, to_width = 0;
  std::int64_t strips = 0;  // of all images
  int row_strips = 0;       // of one row of `to`
};

struct Place {
  int channel;
  std::int64_t strip, step;
  bool active;
};

__device__ Place place_of(int channels) {
  const int fours = channels / kOwn, lanes = kThreads / fours;
  const int t = static_cast<int>(threadIdx.x), lane = t / fours;
  return {t % fours * kOwn,
          static_cast<std::int64_t>(blockIdx.x) * lanes + lane,
          static_cast<std::int64_t>(gridDim.x) * lanes, lane < lanes};
}

// Where a strip lies: image, row, first column.
struct Strip {
  std::int64_t image;
  int row, column;
};
__device__ Strip strip_of(std::int64_t strip, int row_strips, int height) {
  const std::int64_t row = strip / row_strips;
  return {row / height, static_cast<int>(row % height),
          static_cast<int>(strip % row_strips) * kStrip};
}

__device__ void load_weights(float (&w)[9][kOwn], const float* weight,
                             int channel, bool flipped) {
#pragma unroll
  for (int c = 0; c < kOwn; ++c)
#pragma unroll
    for (int i = 0; i < 9; ++i)
      w[i][c] = weight[(channel + c) * 9 + (flipped ? 8 - i : i)];
}

// One row's pixels from `column` on; zeros outside of the image.
template <int kCount>
__device__ void load_row(Four (&x)[kCount], const bf16* image, int channels,
                         int height, int width, int row, int column,
                         int channel) {
  const bool there = row >= 0 && row < height;
  const bf16* at =
      image + (static_cast<std::int64_t>(row) * width + column) * channels +
      channel;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    x[k] = Four{};
    if (there && column + k >= 0 && column + k < width)
      x[k] = *reinterpret_cast<const Four*>(at + k * channels);
  }
}

__device__ void store_strip(const Plane& p, const Strip& s, int channel,
                            const float (&sums)[kStrip][kOwn]) {
  bf16* row = p.to + ((s.image * p.to_height + s.row) * p.to_width) *
                         static_cast<std::int64_t>(p.channels);
#pragma unroll
  for (int o = 0; o < kStrip; ++o) {
    if (s.column + o >= p.to_width) return;
    Four e;
#pragma unroll
    for (int c = 0; c < kOwn; ++c) e.v[c] = __float2bfloat16(sums[o][c]);
    *reinterpret_cast<Four*>(
        row + static_cast<std::int64_t>(s.column + o) * p.channels + channel) =
        e;
  }
}

__device__ void add_product(float (&sums)[kOwn], const Four& x,
                            const float (&w)[kOwn]) {
#pragma unroll
  for (int c = 0; c < kOwn; ++c) sums[c] += __bfloat162float(x.v[c]) * w[c];
}

// Output column o of a strip meets tap j of input column o * stride - 1 + j.
template <int kStride, bool kFlipped>
__global__ void __launch_bounds__(kThreads, 2) gather_kernel(Plane p) {
  constexpr int kColumns = (kStrip - 1) * kStride + 3;
  const Place at = place_of(p.channels);
  if (!at.active) return;
  float w[9][kOwn];
  load_weights(w, p.weight, at.channel, kFlipped);
  for (std::int64_t i = at.strip; i < p.strips; i += at.step) {
    const Strip s = strip_of(i, p.row_strips, p.to_height);
    const bf16* image = p.from + s.image * p.from_height * p.from_width *
                                     static_cast<std::int64_t>(p.channels);
    float sums[kStrip][kOwn] = {};
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      Four x[kColumns];
      load_row(x, image, p.channels, p.from_height, p.from_width,
               s.row * kStride + r - 1, s.column * kStride - 1, at.channel);
#pragma unroll
      for (int k = 0; k < kColumns; ++k)
#pragma unroll
        for (int o = 0; o < kStrip; ++o) {
          const int tap = k - o * kStride;
          if (tap >= 0 && tap < 3) add_product(sums[o], x[k], w[r * 3 + tap]);
        }
    }
    store_strip(p, s, at.channel, sums);
  }
}

// Data gradient of stride 2: input column w met tap j of output (w + 1 - j) / 2
// where that is whole.
__global__ void __launch_bounds__(kThreads, 2) spread_kernel(Plane p) {
  const Place at = place_of(p.channels);
  if (!at.active) return;
  float w[9][kOwn];
  load_weights(w, p.weight, at.channel, false);
  for (std::int64_t i = at.strip; i < p.strips; i += at.step) {
    const Strip s = strip_of(i, p.row_strips, p.to_height);
    const bf16* image = p.from + s.image * p.from_height * p.from_width *
                                     static_cast<std::int64_t>(p.channels);
    float sums[kStrip][kOwn] = {};
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      const int twice = s.row + 1 - r;
      if (twice % 2 != 0) continue;
      Four g[kStrip / 2 + 1];
      load_row(g, image, p.channels, p.from_height, p.from_width, twice / 2,
               s.column / 2, at.channel);
#pragma unroll
      for (int k = 0; k <= kStrip / 2; ++k)
#pragma unroll
        for (int o = 0; o < kStrip; ++o) {
          const int tap = o + 1 - 2 * k;
          if (tap >= 0 && tap < 3) add_product(sums[o], g[k], w[r * 3 + tap]);
        }
    }
    store_strip(p, s, at.channel, sums);
  }
}

// The block's sums over its threads with the same channels, to
// room[block][channels * 9].
__device__ void store_sums(const float (&sums)[9][kOwn], int channels,
                           float* room) {
  __shared__ float all[kThreads][9 * kOwn + 1];
  const int fours = channels / kOwn, lanes = kThreads / fours;
#pragma unroll
  for (int i = 0; i < 9; ++i)
#pragma unroll
    for (int c = 0; c < kOwn; ++c) all[threadIdx.x][c * 9 + i] = sums[i][c];
  __syncthreads();
  float* to = room + static_cast<std::int64_t>(blockIdx.x) * channels * 9;
  for (int i = static_cast<int>(threadIdx.x); i < channels * 9; i += kThreads) {
    float sum = 0.f;
    for (int lane = 0; lane < lanes; ++lane)
      sum += all[lane * fours + i / (9 * kOwn)][i % (9 * kOwn)];
    to[i] = sum;
  }
}

template <int kStride>
__global__ void __launch_bounds__(kThreads)
    weight_kernel(Plane p, const bf16* grad, float* room) {
  constexpr int kColumns = (kStrip - 1) * kStride + 3;
  const Place at = place_of(p.channels);
  float sums[9][kOwn] = {};
  for (std::int64_t i = at.active ? at.strip : p.strips; i < p.strips;
       i += at.step) {
    const Strip s = strip_of(i, p.row_strips, p.to_height);
    const std::int64_t area = static_cast<std::int64_t>(p.channels);
    const bf16* image = p.from + s.image * p.from_height * p.from_width * area;
    const bf16* grads = grad + s.image * p.to_height * p.to_width * area;
    Four e[kStrip];
    load_row(e, grads, p.channels, p.to_height, p.to_width, s.row, s.column,
             at.channel);
    float g[kStrip][kOwn];
#pragma unroll
    for (int o = 0; o < kStrip; ++o)
#pragma unroll
      for (int c = 0; c < kOwn; ++c) g[o][c] = __bfloat162float(e[o].v[c]);
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      Four x[kColumns];
      load_row(x, image, p.channels, p.from_height, p.from_width,
               s.row * kStride + r - 1, s.column * kStride - 1, at.channel);
#pragma unroll
      for (int k = 0; k < kColumns; ++k)
#pragma unroll
        for (int o = 0; o < kStrip; ++o) {
          const int tap = k - o * kStride;
          if (tap >= 0 && tap < 3) add_product(sums[r * 3 + tap], x[k], g[o]);
        }
    }
  }
  store_sums(sums, p.channels, room);
}

// A warp for each weight: the sums of all blocks.
__global__ void total_kernel(const float* room, int blocks, int count,
                             float* to) {
  const int i =
      static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  if (i >= count) return;
  float sum = 0.f;
  for (int block = static_cast<int>(threadIdx.x) % 32; block < blocks;
       block += 32)
    sum += room[static_cast<std::int64_t>(block) * count + i];
  for (int reach = 16; reach > 0; reach /= 2)
    sum += __shfl_xor_sync(~0u, sum, reach);
  if (threadIdx.x % 32 == 0) to[i] = sum;
}

Plane plane_of(const DepthwiseSizes& s, bool backward) {
  Plane p{.channels = s.channels,
          .from_height = s.height,
          .from_width = s.width,
          .to_height = s.out_height(),
          .to_width = s.out_width()};
  if (backward) {
    std::swap(p.from_height, p.to_height);
    std::swap(p.from_width, p.to_width);
  }
  p.row_strips = (p.to_width + kStrip - 1) / kStrip;
  p.strips = static_cast<std::int64_t>(s.batch) * p.to_height * p.row_strips;
  return p;
}

unsigned blocks_for(const Plane& p, int most) {
  const int lanes = kThreads / (p.channels / kOwn);
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((p.strips + lanes - 1) / lanes, 1, most));
}

}  // namespace

bool has_depthwise_kernel(const DepthwiseSizes& s) {
  return s.channels % 8 == 0 && s.channels >= 8 &&
         s.channels <= kOwn * kThreads && (s.stride == 1 || s.stride == 2) &&
         s.batch > 0 && s.height > 0 && s.width > 0;
}

void depthwise_forward(const DepthwiseSizes& s, const bf16* input,
                       const float* weight, bf16* output, cudaStream_t stream) {
  Plane p = plane_of(s, false);
  p.from = input, p.to = output, p.weight = weight;
  const unsigned blocks = blocks_for(p, kMaxBlocks);
  if (s.stride == 1)
    gather_kernel<1, false><<<blocks, kThreads, 0, stream>>>(p);
  else
    gather_kernel<2, false><<<blocks, kThreads, 0, stream>>>(p);
  cuda_check(cudaGetLastError(), "depthwise convolution");
}

void depthwise_data_gradient(const DepthwiseSizes& s, const bf16* grad,
                             const float* weight, bf16* to,
                             cudaStream_t stream) {
  Plane p = plane_of(s, true);
  p.from = grad, p.to = to, p.weight = weight;
  const unsigned blocks = blocks_for(p, kMaxBlocks);
  if (s.stride == 1)
    gather_kernel<1, true><<<blocks, kThreads, 0, stream>>>(p);
  else
    spread_kernel<<<blocks, kThreads, 0, stream>>>(p);
  cuda_check(cudaGetLastError(), "depthwise data gradient");
}

std::int64_t depthwise_room_floats(const DepthwiseSizes& s) {
  return static_cast<std::int64_t>(
             blocks_for(plane_of(s, false), kWeightBlocks)) *
         s.channels * 9;
}

void depthwise_weight_gradient(const DepthwiseSizes& s, const bf16* input,
                               const bf16* grad, float* to, float* room,
                               cudaStream_t stream) {
  Plane p = plane_of(s, false);
  p.from = input;
  const unsigned blocks = blocks_for(p, kWeightBlocks);
  if (s.stride == 1)
    weight_kernel<1><<<blocks, kThreads, 0, stream>>>(p, grad, room);
  else
    weight_kernel<2><<<blocks, kThreads, 0, stream>>>(p, grad, room);
  const int count = s.channels * 9;
  constexpr int kWarps = kThreads / 32;
  total_kernel<<<static_cast<unsigned>((count + kWarps - 1) / kWarps), kThreads,
                 0, stream>>>(room, static_cast<int>(blocks), count, to);
  cuda_check(cudaGetLastError(), "depthwise weight gradient");
}

}  // namespace lockstep
