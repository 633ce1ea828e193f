// SPDX-License-Identifier: Apache-2.0
// Weight gradient over several channels: each block sums some taps over some
// stretches of positions, with both operands read transposed from rows.
#include <algorithm>

#include "lockstep/cuda/conv1d_rows.h"
#include "lockstep/cuda/conv1d_tile.cuh"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

constexpr int kWarps = 4;
constexpr int kTiles = 7;      // of 16 rows (tap and channel), a warp
constexpr int kStretch = 128;  // positions at once
constexpr int kBlocks = 400;   // about three on each multiprocessor

template <int kChannels_, int kColumns_, int kPool_>
struct Work {
  static constexpr int kPool = kPool_;
  static constexpr int kChannels = kChannels_;
  static constexpr int kColumns = kColumns_;  // tiles of 8 output channels
  static constexpr int kEights = kChannels / 8;
  static constexpr int kPitch = pitch_of(kChannels);
  static constexpr int kGradPitch = pitch_of(kColumns * 8);
  // Eights of rows of a block, and the taps they reach.
  static constexpr int kBlockEights = kWarps * kTiles * 2;
  static constexpr int kReach = (kBlockEights + kEights - 1) / kEights + 1;
  static constexpr int kRows = kStretch + kReach;
};

struct WeightArgs {
  const bf16* input;
  const bf16* grad;
  const std::uint8_t* where;
  float* sums;
  int length, padding, windows, stretches, total, rows;
};

template <class W>
__device__ void load(const WeightArgs& a, bf16* rows, bf16* grads, int piece,
                     int first_tap) {
  const std::int64_t b = piece / a.stretches;
  const int position = piece % a.stretches * kStretch;
  load_signal<W::kChannels, W::kPitch, false>(
      rows, W::kRows, position + first_tap - a.padding,
      a.input + b * a.length * W::kChannels, a.length, W::kChannels);
  const std::int64_t at = b * a.windows * W::kColumns * 8;
  load_unpooled<W::kColumns * 8, W::kGradPitch, W::kPool>(
      grads, kStretch, position, a.grad + at, a.where + at, a.windows);
}

// The gradient's tiles of one step of 16 positions.
template <class W>
__device__ void load_grads(std::uint32_t (&b)[W::kColumns][2],
                           std::uint32_t address) {
  static_assert(W::kColumns % 2 == 0);
#pragma unroll
  for (int pair = 0; pair < W::kColumns / 2; ++pair) {
    std::uint32_t r[4];
    load_transposed(r, address + static_cast<unsigned>(pair * 32));
    b[2 * pair][0] = r[0], b[2 * pair][1] = r[1];
    b[2 * pair + 1][0] = r[2], b[2 * pair + 1][1] = r[3];
  }
}

template <class W>
__global__ void __launch_bounds__(32 * kWarps) weight_kernel(WeightArgs a) {
  __shared__ __align__(16) bf16 rows[W::kRows * W::kPitch];
  __shared__ __align__(16) bf16 grads[kStretch * W::kGradPitch];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_eight = static_cast<int>(blockIdx.x) * W::kBlockEights;
  const int first_tap = first_eight / W::kEights;
  // Matrix lane / 8: which eight rows, which eight positions.
  const int matrix = lane / 8, in8 = lane % 8;
  std::uint32_t left_at[kTiles];
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const int eight = first_eight + (warp * kTiles + i) * 2 + matrix % 2;
    const int tap = eight / W::kEights - first_tap;
    left_at[i] =
        shared_address(rows + (tap + matrix / 2 * 8 + in8) * W::kPitch +
                       eight % W::kEights * 8);
  }
  const std::uint32_t right_at = shared_address(
      grads + (matrix % 2 * 8 + in8) * W::kGradPitch + matrix / 2 * 8);

  float sums[kTiles][W::kColumns][4] = {};
  for (int piece = static_cast<int>(blockIdx.y); piece < a.total;
       piece += static_cast<int>(gridDim.y)) {
    __syncthreads();
    load<W>(a, rows, grads, piece, first_tap);
    __syncthreads();
#pragma unroll 2
    for (int step = 0; step < kStretch / 16; ++step) {
      std::uint32_t b[W::kColumns][2];
      load_grads<W>(
          b, right_at + static_cast<unsigned>(step * 16 * W::kGradPitch * 2));
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        std::uint32_t left[4];
        load_transposed(left, left_at[i] + static_cast<unsigned>(
                                               step * 16 * W::kPitch * 2));
#pragma unroll
        for (int n = 0; n < W::kColumns; ++n)
          multiply_add(sums[i][n], left, b[n][0], b[n][1]);
      }
    }
  }

  const std::int64_t part = blockIdx.y;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const int row = first_eight * 8 + (warp * kTiles + i) * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < W::kColumns; ++n) {
      float* to = a.sums + (part * a.rows + row) * W::kColumns * 8 + n * 8 +
                  lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = {sums[i][n][0], sums[i][n][1]};
      *reinterpret_cast<float2*>(to + 8 * W::kColumns * 8) = {sums[i][n][2],
                                                              sums[i][n][3]};
    }
  }
}

constexpr int kBlockRows = kWarps * kTiles * 16;

int groups_of(const Conv1dSizes& s) {
  return (s.taps * s.in8() + kBlockRows - 1) / kBlockRows;
}
int stretches_of(const Conv1dSizes& s) {
  return (s.windows * s.pool + kStretch - 1) / kStretch;
}

template <class W>
void launch(const Conv1dSizes& s, const WeightArgs& a, const Parts& parts,
            cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(groups_of(s)),
                  static_cast<unsigned>(parts.parts));
  weight_kernel<W><<<grid, 32 * kWarps, 0, stream>>>(a);
  cuda_check(cudaGetLastError(), "conv1d weight gradient");
}

}  // namespace

Parts rows_parts(const Conv1dSizes& s) {
  const int pieces = s.batch * stretches_of(s);
  return {.parts = std::min(pieces, std::max(1, kBlocks / groups_of(s))),
          .rows = groups_of(s) * kBlockRows};
}

void rows_weight_gradient(const Conv1dSizes& s, const bf16* input,
                          const bf16* grad, const std::uint8_t* where,
                          float* sums, cudaStream_t stream) {
  const Parts parts = rows_parts(s);
  const WeightArgs a{.input = input,
                     .grad = grad,
                     .where = where,
                     .sums = sums,
                     .length = s.length,
                     .padding = s.padding,
                     .windows = s.windows,
                     .stretches = stretches_of(s),
                     .total = s.batch * stretches_of(s),
                     .rows = parts.rows};
  s.in8() == 56 ? launch<Work<56, 4, 3>>(s, a, parts, stream)
                : launch<Work<32, 2, 5>>(s, a, parts, stream);
}

}  // namespace lockstep
