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

// fp32 [rows, classes] on a GPU, or bf16 [..., vocab] of a language model,
// which may be padded (padded.h); then the gradient is too, with zeros behind.
bool has_loss_kernel(const at::Tensor& logits, const at::Tensor& targets);

// Not differentiable: hand `grad` to logits.backward().
LossCount cross_entropy_count(const at::Tensor& logits,
                              const at::Tensor& targets, double smoothing,
                              double scale);

}  // namespace lockstep
