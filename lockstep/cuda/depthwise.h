// SPDX-License-Identifier: Apache-2.0
// 3x3 convolution of each channel by itself, padding 1, stride 1 or 2, over
// bf16 NHWC images with fp32 weights and sums. Bound by memory: each input is
// read once for several outputs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct DepthwiseSizes {
  int batch, channels, height, width, stride;
  int out_height() const { return (height - 1) / stride + 1; }
  int out_width() const { return (width - 1) / stride + 1; }
};

bool has_depthwise_kernel(const DepthwiseSizes& s);

// weight: fp32 [channels, 3, 3].
void depthwise_forward(const DepthwiseSizes& s, const __nv_bfloat16* input,
                       const float* weight, __nv_bfloat16* output,
                       cudaStream_t stream);
void depthwise_data_gradient(const DepthwiseSizes& s, const __nv_bfloat16* grad,
                             const float* weight, __nv_bfloat16* to,
                             cudaStream_t stream);
// room: depthwise_room_floats(). The same bits every time.
std::int64_t depthwise_room_floats(const DepthwiseSizes& s);
void depthwise_weight_gradient(const DepthwiseSizes& s,
                               const __nv_bfloat16* input,
                               const __nv_bfloat16* grad, float* to,
                               float* room, cudaStream_t stream);

}  // namespace lockstep
