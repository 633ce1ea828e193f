// SPDX-License-Identifier: Apache-2.0
// 1-D convolution with stride 1, and the same with ReLU and max pooling behind
// it. On the CPU in fp32 these are kernels of ours (forward, data and weight
// gradient); LibTorch's reach a fifth of the arithmetic rate there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

// Where our kernels run: CPU tensors in fp32 outside of autocast, with padding
// smaller than the kernel. Everywhere else both functions below call LibTorch.
bool has_conv1d_kernel(const at::Tensor& input, const at::Tensor& weight,
                       std::int64_t padding);

// at::conv1d(input, weight, bias, stride 1, padding), differentiable.
// [batch, in, length], [out, in, taps], [out] -> [batch, out, positions]
at::Tensor conv1d(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias, std::int64_t padding);

// max_pool1d(relu(conv1d(…)), pool): what lies between never goes to memory.
// -> [batch, out, positions / pool]
at::Tensor conv1d_relu_max_pool1d(const at::Tensor& input,
                                  const at::Tensor& weight,
                                  const at::Tensor& bias, std::int64_t padding,
                                  std::int64_t pool);

}  // namespace lockstep
