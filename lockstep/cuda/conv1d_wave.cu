// SPDX-License-Identifier: Apache-2.0
// Forward and weight gradient over one channel: a wave. A window may begin at
// any element, so the wave lies in shared memory eight times, shifted.
#include <algorithm>

#include "lockstep/cuda/conv1d_rows.h"
#include "lockstep/cuda/conv1d_tile.cuh"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

constexpr int kPool = 4, kColumns = 7, kOut8 = 8 * kColumns;
constexpr int kBlocks = 400;  // about three on each multiprocessor

constexpr int kForwardWarps = 4;
constexpr int kForwardWindows = 16 * kForwardWarps;
constexpr int kMaxSteps = 13;  // of 16 taps
constexpr int kForwardCount = kForwardWindows * kPool + 16 * kMaxSteps + 8;

constexpr int kWeightTiles = 2, kWeightWarps = 7;
constexpr int kWeightRows = 16 * kWeightTiles * kWeightWarps;
constexpr int kStretch = 256;  // positions at once
constexpr int kWeightCount = kStretch + kWeightRows + 8;
static_assert(kForwardCount / 8 % 2 == 1 && kWeightCount / 8 % 2 == 1,
              "copies lie in different banks");

struct WaveArgs {
  const float* input = nullptr;
  const char* packed = nullptr;
  const float* bias = nullptr;
  const bf16* grad = nullptr;
  bf16* output = nullptr;
  std::uint8_t* where = nullptr;
  float* sums = nullptr;
  int length = 0, padding = 0, windows = 0, steps = 0, out = 0;
  int tiles = 0, total = 0;  // of a sample, of all
};

__device__ void store(const WaveArgs& a,
                      const float (&sums)[kPool][kColumns][4],
                      std::int64_t sample, int base, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int window = base + half * 8 + lane / 4;
    if (window >= a.windows) continue;
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
      const int c = n * 8 + lane % 4 * 2;
      float v0[kPool], v1[kPool];
#pragma unroll
      for (int i = 0; i < kPool; ++i) {
        v0[i] = sums[i][n][2 * half];
        v1[i] = sums[i][n][2 * half + 1];
      }
      store_pooled(a.output, a.where, (sample * a.windows + window) * kOut8 + c,
                   pool_of(v0, c < a.out ? a.bias[c] : 0.f),
                   pool_of(v1, c + 1 < a.out ? a.bias[c + 1] : 0.f));
    }
  }
}

__global__ void __launch_bounds__(32 * kForwardWarps)
    forward_kernel(WaveArgs a) {
  __shared__ __align__(16) bf16 copies[8 * kForwardCount];
  __shared__ __align__(16) char right[kMaxSteps * kColumns * 256];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int i = static_cast<int>(threadIdx.x) * 16; i < a.steps * kColumns * 256;
       i += 32 * kForwardWarps * 16)
    *reinterpret_cast<uint4*>(right + i) =
        *reinterpret_cast<const uint4*>(a.packed + i);
  // Position of a row: 4 * row + tile. It begins in the copy of that number
  // modulo 8, at an aligned place.
  const int row = lane % 16, half = lane / 16;
  const std::uint32_t left_at =
      shared_address(copies + row % 2 * 4 * kForwardCount + warp * 16 * kPool +
                     (row - row % 2) * kPool + half * 8);
  for (int tile = static_cast<int>(blockIdx.x); tile < a.total;
       tile += static_cast<int>(gridDim.x)) {
    const std::int64_t sample = tile / a.tiles;
    const int base = tile % a.tiles * kForwardWindows;
    __syncthreads();
    load_shifted<kForwardCount>(copies, kForwardCount, base * kPool - a.padding,
                                a.input + sample * a.length, a.length);
    __syncthreads();
    float sums[kPool][kColumns][4] = {};
    for (int step = 0; step < a.steps; ++step) {
      std::uint32_t b[kColumns][2];
      load_right<kColumns>(b, right + step * kColumns * 256, lane);
#pragma unroll
      for (int i = 0; i < kPool; ++i) {
        std::uint32_t left[4];
        load_matrices(left, left_at + static_cast<unsigned>(
                                          (i * kForwardCount + step * 16) * 2));
#pragma unroll
        for (int n = 0; n < kColumns; ++n)
          multiply_add(sums[i][n], left, b[n][0], b[n][1]);
      }
    }
    store(a, sums, sample, base + warp * 16, lane);
  }
}

// Sums of products over one stretch of positions.
__device__ void multiply_stretch(float (&sums)[kWeightTiles][kColumns][4],
                                 const std::uint32_t (&left_at)[kWeightTiles],
                                 std::uint32_t right_at) {
#pragma unroll 2
  for (int step = 0; step < kStretch / 16; ++step) {
    std::uint32_t b[kColumns + 1][2];
#pragma unroll
    for (int pair = 0; pair <= kColumns / 2; ++pair) {
      std::uint32_t r[4];
      load_transposed(r, right_at + static_cast<unsigned>(
                                        (step * 16 * kOut8 + pair * 16) * 2));
      b[2 * pair][0] = r[0], b[2 * pair][1] = r[1];
      b[2 * pair + 1][0] = r[2], b[2 * pair + 1][1] = r[3];
    }
#pragma unroll
    for (int i = 0; i < kWeightTiles; ++i) {
      std::uint32_t left[4];
      load_matrices(left, left_at[i] + static_cast<unsigned>(step * 32));
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
        multiply_add(sums[i][n], left, b[n][0], b[n][1]);
    }
  }
}

__global__ void __launch_bounds__(32 * kWeightWarps) weight_kernel(WaveArgs a) {
  __shared__ __align__(16) bf16 copies[8 * kWeightCount];
  // The last row's ninth eight is read and not used.
  __shared__ __align__(16) bf16 grads[kStretch * kOut8 + 8];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int matrix = lane / 8, in8 = lane % 8;
  const std::uint32_t right_at =
      shared_address(grads + (matrix % 2 * 8 + in8) * kOut8 + matrix / 2 * 8);
  std::uint32_t left_at[kWeightTiles];
#pragma unroll
  for (int i = 0; i < kWeightTiles; ++i) {
    const int tap = (warp * kWeightTiles + i) * 16 + lane % 16;
    left_at[i] = shared_address(copies + tap % 8 * kWeightCount + tap / 8 * 8 +
                                lane / 16 * 8);
  }
  float sums[kWeightTiles][kColumns][4] = {};
  for (int tile = static_cast<int>(blockIdx.x); tile < a.total;
       tile += static_cast<int>(gridDim.x)) {
    const std::int64_t sample = tile / a.tiles;
    const int position = tile % a.tiles * kStretch;
    const std::int64_t at = sample * a.windows * kOut8;
    __syncthreads();
    load_shifted<kWeightCount>(copies, kWeightCount, position - a.padding,
                               a.input + sample * a.length, a.length);
    load_unpooled<kOut8, kOut8, kPool>(grads, kStretch, position, a.grad + at,
                                       a.where + at, a.windows);
    __syncthreads();
    multiply_stretch(sums, left_at, right_at);
  }
  const std::int64_t part = blockIdx.x;
#pragma unroll
  for (int i = 0; i < kWeightTiles; ++i) {
    const int row = (warp * kWeightTiles + i) * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
      float* to =
          a.sums + (part * kWeightRows + row) * kOut8 + n * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = {sums[i][n][0], sums[i][n][1]};
      *reinterpret_cast<float2*>(to + 8 * kOut8) = {sums[i][n][2],
                                                    sums[i][n][3]};
    }
  }
}

WaveArgs args_of(const Conv1dSizes& s, const float* input, int tiles) {
  return {.input = input,
          .length = s.length,
          .padding = s.padding,
          .windows = s.windows,
          .steps = (s.taps + 15) / 16,
          .out = s.out,
          .tiles = tiles,
          .total = s.batch * tiles};
}

int stretches_of(const Conv1dSizes& s) {
  return (s.windows * kPool + kStretch - 1) / kStretch;
}

}  // namespace

void wave_forward(const Conv1dSizes& s, const float* input, const void* packed,
                  const float* bias, bf16* output, std::uint8_t* where,
                  cudaStream_t stream) {
  WaveArgs a =
      args_of(s, input, (s.windows + kForwardWindows - 1) / kForwardWindows);
  a.packed = static_cast<const char*>(packed);
  a.bias = bias, a.output = output, a.where = where;
  const auto blocks = static_cast<unsigned>(std::min(a.total, kBlocks));
  forward_kernel<<<blocks, 32 * kForwardWarps, 0, stream>>>(a);
  cuda_check(cudaGetLastError(), "conv1d");
}

Parts wave_parts(const Conv1dSizes& s) {
  return {.parts = std::min(s.batch * stretches_of(s), kBlocks),
          .rows = kWeightRows};
}

void wave_weight_gradient(const Conv1dSizes& s, const float* input,
                          const bf16* grad, const std::uint8_t* where,
                          float* sums, cudaStream_t stream) {
  WaveArgs a = args_of(s, input, stretches_of(s));
  a.grad = grad, a.where = const_cast<std::uint8_t*>(where), a.sums = sums;
  weight_kernel<<<static_cast<unsigned>(wave_parts(s).parts), 32 * kWeightWarps,
                  0, stream>>>(a);
  cuda_check(cudaGetLastError(), "conv1d weight gradient");
}

}  // namespace lockstep
