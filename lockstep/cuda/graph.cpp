// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/graph.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

struct TorchGraph final : at::cuda::CUDAGraph {
  // A recording that broke before its end leaves the generators that dropout
  // draws from waiting for it. What they draw next is as if it had never begun.
  void release_generators() noexcept {
    for (const auto& [state, increment] : captured_generator_states_)
      state->capturing_ = false;
  }
};

class Graph final : public Captured {
 public:
  explicit Graph(GraphPool shared) : pool(std::move(shared)) {}
  void replay() override { graph.replay(); }
  std::int64_t operations() const override { return operation_count; }
  GraphPool pool;
  TorchGraph graph;
  std::int64_t operation_count = 0;
};

// LibTorch warns of a graph without work; the last part may be one.
class Silent final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

class Recording {
 public:
  Recording(GraphPool pool, c10::DeviceIndex device)
      : pool_(std::move(pool)), device_(device) {}

  void begin() {
    parts_.push_back(std::make_unique<Graph>(pool_));
    // Relaxed: a part may end in the thread that runs backward.
    parts_.back()->graph.capture_begin(*pool_, cudaStreamCaptureModeRelaxed);
  }
  bool cut() {
    if (!finish_part()) return false;
    begin();
    return true;
  }
  std::vector<std::unique_ptr<Captured>> end() {
    if (!finish_part()) {
      Silent silent;
      const c10::WarningUtils::WarningHandlerGuard guard(&silent);
      parts_.back()->graph.capture_end();
      parts_.pop_back();
    }
    std::vector<std::unique_ptr<Captured>> out;
    for (auto& part : parts_) out.push_back(std::move(part));
    return out;
  }

  // A capture that failed leaves the stream, the allocator, the generators and
  // the last error as it found them, so that work can go on without it.
  void abandon() noexcept {
    try {
      parts_.back()->graph.capture_end();
    } catch (const std::exception&) {
      // Expected: the recording is broken.
      try {
        c10::cuda::CUDACachingAllocator::endAllocateToPool(device_, *pool_);
      } catch (const std::exception&) {
        // It had not begun, or had ended before what broke.
      }
    }
    parts_.back()->graph.release_generators();
    cudaGetLastError();
  }

 private:
  // False where nothing was recorded since the last cut: it goes on.
  bool finish_part() {
    const std::size_t nodes = node_count();
    if (nodes == 0) return false;
    parts_.back()->operation_count = static_cast<std::int64_t>(nodes);
    parts_.back()->graph.capture_end();
    return true;
  }

  std::size_t node_count() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    std::size_t nodes = 0;
    cuda_check(cudaStreamGetCaptureInfo(
                   c10::cuda::getCurrentCUDAStream(device_).stream(), &status,
                   nullptr, &graph),
               "what was captured");
    // A recording that broke says so when it is ended.
    if (status != cudaStreamCaptureStatusActive) return 1;
    cuda_check(cudaGraphGetNodes(graph, nullptr, &nodes), "what was captured");
    return nodes;
  }

  GraphPool pool_;
  c10::DeviceIndex device_;
  std::vector<std::unique_ptr<Graph>> parts_;
};

// LibTorch's messages go on with a stack trace; the first line says it.
std::string first_line(const std::exception& e) {
  const auto* torch = dynamic_cast<const c10::Error*>(&e);
  const std::string text = torch ? torch->what_without_backtrace() : e.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<std::unique_ptr<Captured>> capture_graphs(
    const std::function<void(const Device::Cut&)>& work, const GraphPool& pool,
    c10::DeviceIndex device) {
  cuda_check(cudaDeviceSynchronize(), "synchronize");
  Recording recording(pool, device);
  try {
    recording.begin();
    work([&recording] { return recording.cut(); });
    return recording.end();
  } catch (const std::exception& e) {
    recording.abandon();
    throw Error(Fault::device, "train.graph",
                "the step cannot be captured: " + first_line(e),
                "train.graph=auto runs it piece by piece instead");
  }
}

}  // namespace lockstep
