// SPDX-License-Identifier: Apache-2.0
// 3x3 convolution of each channel by itself, padding 1. Ours on a GPU under
// bf16 autocast with channels last (gpu_table.h); LibTorch's elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

// at::conv2d(x, weight, {}, stride, 1, 1, channels), differentiable.
// [batch, channels, height, width], [channels, 1, 3, 3]
at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight,
                             std::int64_t stride);

}  // namespace lockstep
