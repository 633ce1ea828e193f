// SPDX-License-Identifier: Apache-2.0
// conv1d.h's kernels on tensors, as kernels/gpu_table.h wants them.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_conv1d_on_gpu(const ConvShape& shape);
ConvForward conv1d_forward_on_gpu(const ConvShape& shape,
                                  const at::Tensor& input,
                                  const at::Tensor& weight,
                                  const at::Tensor& bias);
ConvBackward conv1d_backward_on_gpu(const ConvShape& shape,
                                    const ConvForward& kept,
                                    const at::Tensor& weight,
                                    const at::Tensor& grad, bool input_too,
                                    const at::Tensor& weight_grad,
                                    const at::Tensor& bias_grad);

}  // namespace lockstep
