// SPDX-License-Identifier: Apache-2.0
// 1-D convolution with stride 1, and the same with ReLU and max pooling behind
// it. Kernels of ours (forward, data and weight gradient) run it on the CPU in
// fp32, where LibTorch's reach a fifth of the arithmetic rate, and on a GPU in
// bf16 with pooling, for the sizes of the conv1d model (gpu_table.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

// Where our CPU kernels run: CPU tensors in fp32 outside of autocast, with
// padding smaller than the kernel. Everywhere else both functions below call
// LibTorch.
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
