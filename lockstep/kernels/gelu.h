// SPDX-License-Identifier: Apache-2.0
// GELU of a product and its bias in one go, bf16 on a GPU (gpu_table.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

// Whether there is a kernel for it: when takes_half(x, bias).
bool has_bias_gelu_kernel(const at::Tensor& x, const at::Tensor& bias);

// at::gelu(x + bias), of either form, differentiable.
at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh);

}  // namespace lockstep
