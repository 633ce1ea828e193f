// SPDX-License-Identifier: Apache-2.0
// Cross-entropy, its gradient and the number of right predictions in one
// kernel (gpu_table.h). Strategies use it instead of a dozen small ones.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

struct LossCount {
  at::Tensor loss_sum{};  // scalar: over all rows, not their mean
  at::Tensor correct{};   // scalar, int64
  at::Tensor grad{};      // of `scale` times that sum, like the logits
};

// fp32 [rows, classes] on a GPU, rows and classes few enough for one block.
bool has_loss_kernel(const at::Tensor& logits, const at::Tensor& targets);

// Not differentiable: hand `grad` to logits.backward().
LossCount cross_entropy_count(const at::Tensor& logits,
                              const at::Tensor& targets, double smoothing,
                              double scale);

}  // namespace lockstep
