// SPDX-License-Identifier: Apache-2.0
// Device::capture on a GPU: CUDA graphs with LibTorch's allocator and random
// numbers told of them.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <vector>

#include "lockstep/device/device.h"

namespace lockstep {

// Memory that recordings share for as long as one of them is there. LibTorch
// refuses a pool that the last of its graphs gave back.
using GraphPool = std::shared_ptr<const at::cuda::MempoolId_t>;

// Records `work` on the current stream, which is not the default one. Its
// memory comes from `pool` and stays there.
std::vector<std::unique_ptr<Captured>> capture_graphs(
    const std::function<void(const Device::Cut&)>& work, const GraphPool& pool,
    c10::DeviceIndex device);

}  // namespace lockstep
