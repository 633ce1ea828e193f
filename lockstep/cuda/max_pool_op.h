// SPDX-License-Identifier: Apache-2.0
// max_pool.h's kernels on tensors, as kernels/gpu_table.h wants them.
#pragma once

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

bool has_max_pool_on_gpu(const at::Tensor& x, const PoolWindow& window);
MaxPoolForward max_pool_forward_on_gpu(const at::Tensor& x,
                                       const PoolWindow& window);
at::Tensor max_pool_backward_on_gpu(const at::Tensor& grad,
                                    const at::Tensor& where,
                                    const PoolWindow& window,
                                    at::IntArrayRef sizes);

}  // namespace lockstep
