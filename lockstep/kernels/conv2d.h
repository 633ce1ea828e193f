// SPDX-License-Identifier: Apache-2.0
// 2-D convolution in bf16 on a GPU: cuDNN's, with the cast of the weight and
// the way of its gradient into the flat buffer as short as they can be.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

// Whether conv2d_direct() is for this: under bf16 autocast on a GPU, while
// gradients are wanted, with a weight whose gradient may be written directly;
// or at any time with a weight that is not trained.
bool takes_direct_conv2d(const at::Tensor& x, const at::Tensor& weight);

// at::conv2d(x, weight, {}, stride, padding), differentiable. Backward writes
// weight.grad itself, as kernels/linear.h does.
at::Tensor conv2d_direct(const at::Tensor& x, const at::Tensor& weight,
                         std::int64_t stride, std::int64_t padding);

}  // namespace lockstep
