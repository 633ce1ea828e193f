// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lockstep/cuda/columns.cuh"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

// 32 columns a block, 32 groups of threads that each take every 32nd part.
__global__ void __launch_bounds__(1024)
    fold_kernel(const float* room, int parts, int columns, Fold fold) {
  __shared__ float all[32][33];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int group = static_cast<int>(threadIdx.x) / 32;
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  float* to = fold.to[blockIdx.y];
  if (!to) return;
  const std::int64_t width = static_cast<std::int64_t>(fold.count) * columns;
  const float* from = room + static_cast<std::int64_t>(blockIdx.y) * columns;
  float sum = 0.f;
  if (column < columns)
#pragma unroll 8
    for (int part = group; part < parts; part += 32)
      sum += from[part * width + column];
  all[group][lane] = sum;
  __syncthreads();
  if (group != 0 || column >= columns) return;
  sum = 0.f;
#pragma unroll
  for (int g = 0; g < 32; ++g) sum += all[g][lane];
  to[column] = sum;
}

__global__ void __launch_bounds__(kColumnThreads)
    half_sums_kernel(ColumnSizes s, const bf16* x, float* room) {
  const ColumnPlace at = column_place(s);
  float sums[8] = {};
  if (at.active)
#pragma unroll 8
    for (std::int64_t row = at.row; row < s.rows; row += at.step) {
      const Eight e = load_eight(x, s, row, at.column);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i] += __bfloat162float(e.v[i]);
    }
  store_partial(s, sums, room);
}

}  // namespace

int column_parts(const ColumnSizes& s) {
  // About six blocks on each multiprocessor, each with rows to walk.
  const std::int64_t wide = (s.columns + 255) / 256;
  const std::int64_t most = std::max<std::int64_t>(1, 792 / wide);
  return static_cast<int>(
      std::clamp<std::int64_t>(s.rows / (kColumnGroups * 8), 1, most));
}

void launch_fold(const float* room, int parts, int columns, const Fold& fold,
                 cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32),
                  static_cast<unsigned>(fold.count));
  fold_kernel<<<grid, 1024, 0, stream>>>(room, parts, columns, fold);
  cuda_check(cudaGetLastError(), "column sums");
}

void launch_half_column_sums(const ColumnSizes& s, const __nv_bfloat16* x,
                             float* room, float* to, cudaStream_t stream) {
  const int parts = column_parts(s);
  const dim3 grid(static_cast<unsigned>((s.columns + 255) / 256),
                  static_cast<unsigned>(parts));
  half_sums_kernel<<<grid, kColumnThreads, 0, stream>>>(s, x, room);
  launch_fold(room, parts, s.columns, {1, {to}}, stream);
}

}  // namespace lockstep
