// SPDX-License-Identifier: Apache-2.0
// Rows of a table by their numbers, whose gradient is added to the rows it
// belongs to and leaves the rest of the table alone (gpu_table.h). LibTorch
// writes, and then adds, a gradient as large as the table.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

// at::embedding(weight, tokens), differentiable. [...] -> [..., width]
at::Tensor embed(const at::Tensor& weight, const at::Tensor& tokens);

}  // namespace lockstep
