// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a bf16 matrix in fp32: gradients of biases.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct ColumnSizes {
  std::int64_t rows;
  int columns;  // a multiple of 8
};

// Partial sums of each column, [column_parts][columns] floats in `room`.
int column_parts(const ColumnSizes& s);

// to[k][c] = sum over parts of room[part][k * columns + c], k < count. Null:
// left out.
struct Fold {
  int count;
  float* to[3];
};
void launch_fold(const float* room, int parts, int columns, const Fold& fold,
                 cudaStream_t stream);

// to[c] = sum over rows of x[row][c]
void launch_half_column_sums(const ColumnSizes& s, const __nv_bfloat16* x,
                             float* room, float* to, cudaStream_t stream);

}  // namespace lockstep
