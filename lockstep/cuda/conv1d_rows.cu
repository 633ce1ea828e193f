// SPDX-License-Identifier: Apache-2.0
// Forward and data gradient over several channels. Both multiply overlapping
// rows of a signal by packed weights; they differ in where the rows come from
// and in what happens to the sums.
#include <algorithm>

#include "lockstep/cuda/conv1d_rows.h"
#include "lockstep/cuda/conv1d_tile.cuh"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

constexpr int kWarps = 4;

// kForward: tile i of a set holds place i of 16 windows, so that a thread has
// a whole window's positions. Otherwise tiles follow each other.
template <int kChannels_, int kTiles_, int kSets_, int kColumns_, int kPool_,
          bool kForward_>
struct Work {
  static constexpr int kPool = kPool_;
  static constexpr int kChannels = kChannels_, kTiles = kTiles_;
  static constexpr int kSets = kSets_;
  static constexpr int kColumns = kColumns_;  // tiles of 8 output channels
  static constexpr bool kForward = kForward_;
  static constexpr int kPitch = pitch_of(kChannels);
  static constexpr int kStageBytes = kStageSteps * kColumns * 256;
  // Output rows of a block, and the positions they are computed from.
  static constexpr int kOut = 16 * kWarps * (kForward ? kSets : kTiles);
  static constexpr int kPositions = 16 * kWarps * kSets * kTiles;
  static_assert(!kForward || kTiles == kPool);
  static_assert(kPitch == kChannels || kChannels % 16 == 0);
};

struct RowsArgs {
  const bf16* from;              // signal, or gradient before unpooling
  const std::uint8_t* where_in;  // of the gradient
  const char* packed;
  const float* bias;
  bf16* to;
  std::uint8_t* where_out;
  int from_rows, real;
  int to_rows;
  int first;  // position of the first row in shared memory, of output 0
  int rows, stages, out;
};

// Elements from a row's beginning to the 16 of this step.
template <class W>
__device__ int offset_of(int step) {
  if constexpr (W::kPitch == W::kChannels) return 16 * step;
  return 16 * step / W::kChannels * W::kPitch + 16 * step % W::kChannels;
}

template <class W>
__device__ void fetch_stage(const RowsArgs& a, char* right, int stage) {
  const char* from =
      a.packed + static_cast<std::int64_t>(stage) * W::kStageBytes;
  const std::uint32_t to =
      shared_address(right) + static_cast<unsigned>(stage % 3 * W::kStageBytes);
  if (stage < a.stages)
    for (int i = static_cast<int>(threadIdx.x) * 16; i < W::kStageBytes;
         i += 32 * kWarps * 16)
      copy_async(to + static_cast<unsigned>(i), from + i);
  commit_copies();
}

template <class W>
__device__ void load_rows(const RowsArgs& a, bf16* rows, int first) {
  const std::int64_t b = blockIdx.y;
  const std::int64_t from = b * a.from_rows * W::kChannels;
  if constexpr (W::kForward)
    load_signal<W::kChannels, W::kPitch, true>(
        rows, a.rows, first, a.from + from, a.from_rows, a.real);
  else
    load_unpooled<W::kChannels, W::kPitch, W::kPool>(
        rows, a.rows, first, a.from + from, a.where_in + from, a.from_rows);
}

template <class W>
using Sums = float[W::kSets][W::kTiles][W::kColumns][4];

template <class W>
__device__ void multiply_stage(Sums<W>& sums, std::uint32_t lane_rows,
                               const char* right, int stage, int lane) {
  constexpr int kNext = W::kForward ? 1 : 16;  // rows from tile to tile
#pragma unroll 2
  for (int s = 0; s < kStageSteps; ++s) {
    std::uint32_t b[W::kColumns][2];
    load_right<W::kColumns>(b, right + s * W::kColumns * 256, lane);
    const int offset = offset_of<W>(stage * kStageSteps + s);
#pragma unroll
    for (int set = 0; set < W::kSets; ++set)
#pragma unroll
      for (int i = 0; i < W::kTiles; ++i) {
        const int row = set * 16 * W::kTiles + i * kNext;
        std::uint32_t left[4];
        load_matrices(left, lane_rows + static_cast<unsigned>(
                                            (row * W::kPitch + offset) * 2));
#pragma unroll
        for (int n = 0; n < W::kColumns; ++n)
          multiply_add(sums[set][i][n], left, b[n][0], b[n][1]);
      }
  }
}

// Lane's rows and columns of an accumulator: rows lane / 4 and 8 further,
// columns 2 * (lane % 4) and the next.
template <class W>
__device__ void store_forward(const RowsArgs& a, const Sums<W>& sums, int base,
                              int lane) {
  constexpr int kOut8 = W::kColumns * 8;
  const std::int64_t b = static_cast<std::int64_t>(blockIdx.y) * a.to_rows;
#pragma unroll
  for (int set = 0; set < W::kSets; ++set)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int window = base + set * 16 + half * 8 + lane / 4;
      if (window >= a.to_rows) continue;
#pragma unroll
      for (int n = 0; n < W::kColumns; ++n) {
        const int c = n * 8 + lane % 4 * 2;
        float v0[W::kTiles], v1[W::kTiles];
#pragma unroll
        for (int i = 0; i < W::kTiles; ++i) {
          v0[i] = sums[set][i][n][2 * half];
          v1[i] = sums[set][i][n][2 * half + 1];
        }
        store_pooled(a.to, a.where_out, (b + window) * kOut8 + c,
                     pool_of(v0, c < a.out ? a.bias[c] : 0.f),
                     pool_of(v1, c + 1 < a.out ? a.bias[c + 1] : 0.f));
      }
    }
}

template <class W>
__device__ void store_data(const RowsArgs& a, const Sums<W>& sums, int base,
                           int lane) {
  constexpr int kOut8 = W::kColumns * 8;
  const std::int64_t b = static_cast<std::int64_t>(blockIdx.y) * a.to_rows;
#pragma unroll
  for (int i = 0; i < W::kTiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = base + i * 16 + half * 8 + lane / 4;
      if (row >= a.to_rows) continue;
#pragma unroll
      for (int n = 0; n < W::kColumns; ++n)
        *reinterpret_cast<__nv_bfloat162*>(a.to + (b + row) * kOut8 + n * 8 +
                                           lane % 4 * 2) =
            __floats2bfloat162_rn(sums[0][i][n][2 * half],
                                  sums[0][i][n][2 * half + 1]);
    }
}

template <class W>
__global__ void __launch_bounds__(32 * kWarps) rows_kernel(RowsArgs a) {
  extern __shared__ __align__(16) char shared[];
  auto* rows = reinterpret_cast<bf16*>(shared);
  char* right = shared + a.rows * W::kPitch * 2;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int tile = static_cast<int>(blockIdx.x) * W::kOut;
  fetch_stage<W>(a, right, 0);
  fetch_stage<W>(a, right, 1);
  load_rows<W>(a, rows, tile * (W::kForward ? W::kTiles : 1) + a.first);

  const int row_of_16 = lane % 16, half = lane / 16;
  const int warp_row = warp * 16 * W::kSets * W::kTiles +
                       row_of_16 * (W::kForward ? W::kTiles : 1);
  const std::uint32_t lane_rows =
      shared_address(rows + warp_row * W::kPitch + half * 8);
  Sums<W> sums = {};
  for (int stage = 0; stage < a.stages; ++stage) {
    wait_for_copies<1>();
    __syncthreads();
    fetch_stage<W>(a, right, stage + 2);
    multiply_stage<W>(sums, lane_rows, right + stage % 3 * W::kStageBytes,
                      stage, lane);
  }
  const int base = tile + warp * 16 * (W::kForward ? W::kSets : W::kTiles);
  if constexpr (W::kForward)
    store_forward<W>(a, sums, base, lane);
  else
    store_data<W>(a, sums, base, lane);
}

template <class W>
void launch(const Conv1dSizes& s, RowsArgs a, cudaStream_t stream) {
  // Steps behind the last tap multiply zeros: rows for them, too.
  a.stages = stages_of(s.taps * W::kChannels);
  a.rows = W::kPositions + 16 * kStageSteps * a.stages / W::kChannels + 1;
  const int bytes = a.rows * W::kPitch * 2 + 3 * W::kStageBytes;
  const dim3 grid(static_cast<unsigned>((a.to_rows + W::kOut - 1) / W::kOut),
                  static_cast<unsigned>(s.batch));
  cuda_check(
      cudaFuncSetAttribute(rows_kernel<W>,
                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "shared memory");
  rows_kernel<W>
      <<<grid, 32 * kWarps, static_cast<std::size_t>(bytes), stream>>>(a);
  cuda_check(cudaGetLastError(), "conv1d");
}

using Forward56 = Work<56, 3, 2, 4, 3, true>;
using Forward32 = Work<32, 5, 1, 2, 5, true>;
using Data32 = Work<32, 4, 1, 7, 3, false>;
using Data16 = Work<16, 4, 1, 4, 5, false>;

}  // namespace

void rows_forward(const Conv1dSizes& s, const bf16* input, const void* packed,
                  const float* bias, bf16* output, std::uint8_t* where,
                  cudaStream_t stream) {
  const RowsArgs a{.from = input,
                   .packed = static_cast<const char*>(packed),
                   .bias = bias,
                   .to = output,
                   .where_out = where,
                   .from_rows = s.length,
                   .real = s.in,
                   .to_rows = s.windows,
                   .first = -s.padding,
                   .out = s.out};
  s.in8() == 56 ? launch<Forward56>(s, a, stream)
                : launch<Forward32>(s, a, stream);
}

void rows_data_gradient(const Conv1dSizes& s, const bf16* grad,
                        const std::uint8_t* where, const void* packed, bf16* to,
                        cudaStream_t stream) {
  const RowsArgs a{.from = grad,
                   .where_in = where,
                   .packed = static_cast<const char*>(packed),
                   .to = to,
                   .from_rows = s.windows,
                   .to_rows = s.length,
                   .first = s.padding - s.taps + 1};
  s.in8() == 56 ? launch<Data32>(s, a, stream) : launch<Data16>(s, a, stream);
}

}  // namespace lockstep
