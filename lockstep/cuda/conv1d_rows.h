// SPDX-License-Identifier: Apache-2.0
// The parts of conv1d.h that depend on the number of input channels. Private
// to the kernels.
#pragma once

#include "lockstep/cuda/conv1d.h"

namespace lockstep {

void rows_forward(const Conv1dSizes& s, const __nv_bfloat16* input,
                  const void* packed, const float* bias, __nv_bfloat16* output,
                  std::uint8_t* where, cudaStream_t stream);
void rows_data_gradient(const Conv1dSizes& s, const __nv_bfloat16* grad,
                        const std::uint8_t* where, const void* packed,
                        __nv_bfloat16* to, cudaStream_t stream);
void wave_forward(const Conv1dSizes& s, const float* input, const void* packed,
                  const float* bias, __nv_bfloat16* output, std::uint8_t* where,
                  cudaStream_t stream);

// Partial sums of the weight gradient: [parts][rows][out8], row t * in8 + c
// (for one channel: row t).
struct Parts {
  int parts, rows;
};
Parts rows_parts(const Conv1dSizes& s);
void rows_weight_gradient(const Conv1dSizes& s, const __nv_bfloat16* input,
                          const __nv_bfloat16* grad, const std::uint8_t* where,
                          float* sums, cudaStream_t stream);
Parts wave_parts(const Conv1dSizes& s);
void wave_weight_gradient(const Conv1dSizes& s, const float* input,
                          const __nv_bfloat16* grad, const std::uint8_t* where,
                          float* sums, cudaStream_t stream);

}  // namespace lockstep
