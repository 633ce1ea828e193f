// SPDX-License-Identifier: Apache-2.0
// A fully connected layer in bf16 on a GPU (half.h): cuBLAS's products, the
// weight's gradient as their fp32 sums straight into the flat buffer.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

// How a weight lies in memory: PyTorch's way, or GPT-2's.
enum class WeightOrder { out_in, in_out };

// at::linear(x, weight, bias) in bf16, differentiable, when takes_half(x,
// weight). bias may be undefined. With out_in a weight of more dimensions
// counts as [out, all the others].
at::Tensor half_linear(const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias,
                       WeightOrder order = WeightOrder::out_in);

}  // namespace lockstep
