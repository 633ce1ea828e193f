// SPDX-License-Identifier: Apache-2.0
// Max pooling as ResNets begin with. Ours on a GPU in bf16 with channels last
// (gpu_table.h); LibTorch's elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

// at::max_pool2d(x, 3, /*stride=*/2, /*padding=*/1), differentiable.
at::Tensor max_pool3x3(const at::Tensor& x);

}  // namespace lockstep
