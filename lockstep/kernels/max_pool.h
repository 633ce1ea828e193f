// SPDX-License-Identifier: Apache-2.0
// Max pooling of images. Ours on a GPU in bf16 with channels last for the
// windows below (gpu_table.h); LibTorch's elsewhere.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep {

// A square window, how far apart windows are, and what lies around the image.
struct PoolWindow {
  std::int64_t size = 1, stride = 1, padding = 0;
  bool operator==(const PoolWindow&) const = default;
};
constexpr PoolWindow kResNetPool = {3, 2, 1};
constexpr PoolWindow kPool2x2 = {2, 2, 0};
constexpr PoolWindow kPool3x3 = {3, 3, 0};

// at::max_pool2d(x, size, stride, padding), differentiable.
at::Tensor max_pool(const at::Tensor& x, const PoolWindow& window);

}  // namespace lockstep
