// SPDX-License-Identifier: Apache-2.0
// Max pooling of bf16 images with channels last: 3x3 windows two apart with
// padding 1, 2x2 and 3x3 windows side by side without. Where a maximum came
// from is a byte, not LibTorch's eight; backward gathers, so nothing is cleared
// first and nothing added by atomics.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct PoolSizes {
  int batch, channels, height, width;  // channels: a multiple of 8
  int window, stride, padding;
  __host__ __device__ int reach(int side) const {
    return (side + 2 * padding - window) / stride + 1;
  }
  __host__ __device__ int out_height() const { return reach(height); }
  __host__ __device__ int out_width() const { return reach(width); }
};

// where: the place in the window, 0 to 8, of each output.
void launch_max_pool(const PoolSizes& s, const __nv_bfloat16* x,
                     __nv_bfloat16* output, std::uint8_t* where,
                     cudaStream_t stream);
void launch_max_pool_backward(const PoolSizes& s, const __nv_bfloat16* grad,
                              const std::uint8_t* where, __nv_bfloat16* x_grad,
                              cudaStream_t stream);

}  // namespace lockstep
