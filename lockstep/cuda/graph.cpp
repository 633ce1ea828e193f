// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/graph.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>

#include "lockstep/core/error.h"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

class Graph final : public Captured {
 public:
  void replay() override { graph.replay(); }
  at::cuda::CUDAGraph graph;
};

// A capture that failed leaves the stream, the allocator and the last error as
// it found them, so that work can go on without it.
void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool,
             c10::DeviceIndex device) {
  bool ended = false;
  try {
    graph.capture_end();
    ended = true;
  } catch (const std::exception&) {
    // Expected: the recording is broken.
  }
  if (!ended) c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
  cudaGetLastError();
}

// LibTorch's messages go on with a stack trace; the first line says it.
std::string first_line(const std::exception& e) {
  const auto* torch = dynamic_cast<const c10::Error*>(&e);
  const std::string text = torch ? torch->what_without_backtrace() : e.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::unique_ptr<Captured> capture_graph(const std::function<void()>& work,
                                        at::cuda::MempoolId_t pool,
                                        c10::DeviceIndex device) {
  cuda_check(cudaDeviceSynchronize(), "synchronize");
  auto out = std::make_unique<Graph>();
  // Only this thread is held to what a capture allows: other ranks may be at
  // work on the same GPU.
  out->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  try {
    work();
    out->graph.capture_end();
  } catch (const std::exception& e) {
    abandon(out->graph, pool, device);
    throw Error(Fault::device, "train.graph",
                "the step cannot be captured: " + first_line(e),
                "train.graph=auto runs it piece by piece instead");
  }
  return out;
}

}  // namespace lockstep
