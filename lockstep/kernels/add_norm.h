// SPDX-License-Identifier: Apache-2.0
// A branch added to a transformer's residual stream, and layer normalisation of
// the sum, in one go on a GPU (gpu_table.h): the stream in fp32, branches and
// normalised features in bf16.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

struct AddNormInput {
  at::Tensor x{};            // fp32 [..., width]
  at::Tensor branch{};       // bf16, or undefined
  at::Tensor branch_bias{};  // [width], or undefined
  at::Tensor weight{}, bias{};
  double eps = 1e-5;
};

struct AddNormOutput {
  at::Tensor sum{};     // x + branch + branch_bias, fp32; x without a branch
  at::Tensor output{};  // layer_norm(sum), bf16
};

// Whether there is a kernel for it: when takes_half(x, weight), with a width of
// at most 1024.
bool has_add_norm_kernel(const AddNormInput& in);

// Differentiable.
AddNormOutput add_norm(const AddNormInput& in);

}  // namespace lockstep
