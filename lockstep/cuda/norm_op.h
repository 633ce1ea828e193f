// SPDX-License-Identifier: Apache-2.0
// norm.h's kernels on tensors, as kernels/gpu_table.h wants them.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_norm_on_gpu(const at::Tensor& x);
NormForward norm_forward_on_gpu(const NormLayer& layer, const at::Tensor& x,
                                Activation activation,
                                const at::Tensor& residual);
NormBackward norm_backward_on_gpu(const NormForward& kept, const at::Tensor& x,
                                  const at::Tensor& grad, Activation activation,
                                  bool residual, const at::Tensor& weight_grad,
                                  const at::Tensor& bias_grad);

}  // namespace lockstep
