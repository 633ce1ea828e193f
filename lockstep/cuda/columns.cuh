// SPDX-License-Identifier: Apache-2.0
// Work on bf16 rows where each column also has a sum over all rows. A thread
// keeps eight neighbouring columns and walks down the rows; a block's threads
// leave one partial sum a column in `room`, and columns.cu folds those in one
// order: the same bits every time.
#pragma once

#include "lockstep/cuda/columns.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {

inline constexpr int kColumnLanes = 32;  // of eight columns, a block's width
inline constexpr int kColumnGroups = 8;  // of rows, side by side in a block
inline constexpr int kColumnThreads = kColumnLanes * kColumnGroups;

struct ColumnPlace {
  int column;        // the first of eight
  std::int64_t row;  // the first of this thread's
  std::int64_t step;
  bool active;
};

__device__ inline ColumnPlace column_place(const ColumnSizes& s) {
  const int t = static_cast<int>(threadIdx.x);
  const int column =
      (static_cast<int>(blockIdx.x) * kColumnLanes + t % kColumnLanes) * 8;
  return {
      column,
      static_cast<std::int64_t>(blockIdx.y) * kColumnGroups + t / kColumnLanes,
      static_cast<std::int64_t>(gridDim.y) * kColumnGroups, column < s.columns};
}

__device__ inline Eight load_eight(const bf16* from, const ColumnSizes& s,
                                   std::int64_t row, int column) {
  return *reinterpret_cast<const Eight*>(from + row * s.columns + column);
}

__device__ inline void store_eight(bf16* to, const ColumnSizes& s,
                                   std::int64_t row, int column,
                                   const Eight& e) {
  *reinterpret_cast<Eight*>(to + row * s.columns + column) = e;
}

// The block's sums to room[blockIdx.y][columns]. All threads call it.
__device__ inline void store_partial(const ColumnSizes& s,
                                     const float (&sums)[8], float* room) {
  __shared__ float all[kColumnThreads][9];
  const int t = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 8; ++i) all[t][i] = sums[i];
  __syncthreads();
  // One column for each thread.
  const int lane = t / 8, i = t % 8;
  const int column =
      (static_cast<int>(blockIdx.x) * kColumnLanes + lane) * 8 + i;
  if (column >= s.columns) return;
  float sum = 0.f;
#pragma unroll
  for (int group = 0; group < kColumnGroups; ++group)
    sum += all[group * kColumnLanes + lane][i];
  room[static_cast<std::int64_t>(blockIdx.y) * s.columns + column] = sum;
}

}  // namespace lockstep
