// SPDX-License-Identifier: Apache-2.0
// Device::capture on a GPU: a CUDA graph with LibTorch's allocator and random
// numbers told of it.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>

#include "lockstep/device/device.h"

namespace lockstep {

// Records `work` on the current stream, which is not the default one. Its
// memory comes from `pool` and stays there.
std::unique_ptr<Captured> capture_graph(const std::function<void()>& work,
                                        at::cuda::MempoolId_t pool,
                                        c10::DeviceIndex device);

}  // namespace lockstep
