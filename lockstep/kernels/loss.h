// SPDX-License-Identifier: Apache-2.0
// Cross-entropy, its gradient and the number of right predictions in one
// kernel (gpu_table.h). Strategies use it instead of a dozen small ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

struct LossCount {
  at::Tensor loss_sum{};  // scalar: over all rows, not their mean
  at::Tensor correct{};   // scalar, int64; negative: see below
  at::Tensor grad{};      // of `scale` times that sum, like the logits
};

// A target that is no class makes the sum NaN and the count this, which stays
// below zero when passes are added up: who reads them on the host finds out,
// and no step waits for it.
inline constexpr std::int64_t kNoSuchClass = -(std::int64_t{1} << 40);

// fp32 [rows, classes] on a GPU, or bf16 [..., vocab] of a language model,
// which may be padded (padded.h); then the gradient is too, with zeros behind.
bool has_loss_kernel(const at::Tensor& logits, const at::Tensor& targets);

// Not differentiable: hand `grad` to logits.backward().
LossCount cross_entropy_count(const at::Tensor& logits,
                              const at::Tensor& targets, double smoothing,
                              double scale);

}  // namespace lockstep
