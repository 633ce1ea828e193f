// SPDX-License-Identifier: Apache-2.0
// depthwise.h's kernels on tensors, as kernels/gpu_table.h wants them.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_depthwise_on_gpu(const at::Tensor& x, std::int64_t stride);
at::Tensor depthwise_forward_on_gpu(const at::Tensor& x,
                                    const at::Tensor& weight,
                                    std::int64_t stride);
at::Tensor depthwise_backward_on_gpu(const at::Tensor& x,
                                     const at::Tensor& weight,
                                     const at::Tensor& grad,
                                     std::int64_t stride, bool input_too,
                                     const at::Tensor& weight_grad);

}  // namespace lockstep
