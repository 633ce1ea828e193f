// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/loss.h"

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_loss_kernel(const at::Tensor& logits, const at::Tensor& targets) {
  return logits.is_cuda() && gpu_table().has_loss != nullptr &&
         gpu_table().has_loss(logits, targets);
}

LossCount cross_entropy_count(const at::Tensor& logits,
                              const at::Tensor& targets, double smoothing,
                              double scale) {
  return gpu_table().loss(logits, targets, smoothing, scale);
}

}  // namespace lockstep
