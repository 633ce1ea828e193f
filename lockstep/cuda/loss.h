// SPDX-License-Identifier: Apache-2.0
// The end of a step's forward and the beginning of its backward on a GPU:
// kernels/loss.h, and sums over a batch.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets);
LossCount loss_on_gpu(const at::Tensor& logits, const at::Tensor& targets,
                      double smoothing, double scale);
void column_sums_on_gpu(const at::Tensor& x, const at::Tensor& to);

}  // namespace lockstep
