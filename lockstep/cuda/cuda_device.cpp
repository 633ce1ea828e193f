// SPDX-License-Identifier: Apache-2.0
// A GPU as a Device, and the one function this library exports.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <mutex>

#include "lockstep/core/version.h"
#include "lockstep/cuda/conv1d_op.h"
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/delay.h"
#include "lockstep/cuda/depthwise_op.h"
#include "lockstep/cuda/event_clock.h"
#include "lockstep/cuda/graph.h"
#include "lockstep/cuda/image_batch_op.h"
#include "lockstep/cuda/loss.h"
#include "lockstep/cuda/max_pool_op.h"
#include "lockstep/cuda/norm_op.h"
#include "lockstep/cuda/token_op.h"
#include "lockstep/cuda/update_op.h"
#include "lockstep/device/cuda_entry.h"
#include "lockstep/device/device.h"

namespace lockstep {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : index_(static_cast<c10::DeviceIndex>(index)), clock_(index) {}

  c10::Device torch() const override { return {c10::kCUDA, index_}; }

  Json info() const override {
    cudaDeviceProp p = {};
    int driver = 0;
    cuda_check(cudaGetDeviceProperties(&p, index_), "device properties");
    cuda_check(cudaDriverGetVersion(&driver), "driver version");
    return Json{
        {"kind", "cuda"},
        {"name", p.name},
        {"memory_bytes", static_cast<std::int64_t>(p.totalGlobalMem)},
        {"multiprocessors", p.multiProcessorCount},
        {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
        {"driver", fmt::format("{}.{}", driver / 1000, driver % 1000 / 10)}};
  }

  void synchronize() override {
    cuda_check(cudaDeviceSynchronize(), "synchronize");
  }
  TimeSource time_source() override { return clock_.source(); }

  std::int64_t peak_memory_bytes() override {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(index_)
        .allocated_bytes[static_cast<std::size_t>(
            c10::CachingAllocator::StatType::AGGREGATE)]
        .peak;
  }
  void reset_peak_memory() override {
    c10::cuda::CUDACachingAllocator::resetPeakStats(index_);
  }

  void allow_tf32(bool allow) override {
    at::globalContext().setAllowTF32CuBLAS(allow);
    at::globalContext().setAllowTF32CuDNN(allow);
  }
  void search_kernels(bool search) override {
    at::globalContext().setBenchmarkCuDNN(search);
  }

  at::Tensor random_state() override {
    at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(index_);
    const std::lock_guard lock(generator.mutex());
    return generator.get_state();
  }
  void set_random_state(const at::Tensor& state) override {
    at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(index_);
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
  }

  void sgd(const UpdateArgs& args) override { updates_.sgd(args); }
  void adam(const UpdateArgs& args) override { updates_.adam(args); }
  void lars(const UpdateArgs& args) override { updates_.lars(args); }
  void lamb(const UpdateArgs& args) override { updates_.lamb(args); }
  void put_rates(const UpdateArgs& args) override { updates_.put_rates(args); }

  std::vector<std::unique_ptr<Captured>> capture(
      const std::function<void(const Cut&)>& work) override {
    GraphPool pool = pool_.lock();
    if (!pool)
      pool_ = pool = std::make_shared<const at::cuda::MempoolId_t>(
          at::cuda::graph_pool_handle());
    return capture_graphs(work, pool, index_);
  }
  std::string cannot_capture() const override { return {}; }

 private:
  c10::DeviceIndex index_;
  EventClock clock_;
  std::weak_ptr<const at::cuda::MempoolId_t> pool_;
  GpuUpdates updates_;
};

void check_versions(const char* lockstep_version, const char* torch_version) {
  if (version_text() == lockstep_version &&
      std::string(TORCH_VERSION) == torch_version)
    return;
  throw Error(Fault::device, kCudaLibrary,
              fmt::format("was built for lockstep {} and LibTorch {}, the "
                          "program is lockstep {} with LibTorch {}",
                          version_text(), TORCH_VERSION, lockstep_version,
                          torch_version),
              "build both together: make build");
}

}  // namespace
}  // namespace lockstep

extern "C" lockstep::Device* lockstep_cuda_device(int index,
                                                  const char* lockstep_version,
                                                  const char* torch_version) {
  using namespace lockstep;
  check_versions(lockstep_version, torch_version);
  const auto count = static_cast<int>(at::cuda::getNumGPUs());
  if (index >= count)
    throw Error(Fault::device, fmt::format("cuda:{}", index),
                count == 0 ? std::string("no GPU was found")
                           : fmt::format("this machine has {} GPU(s)", count),
                count == 0 ? "`lockstep doctor` says why; train.device=cpu "
                             "works everywhere"
                           : "they are numbered from 0");
  cuda_check(cudaSetDevice(index), "set device");
  set_gpu_table({.has_conv1d = has_conv1d_on_gpu,
                 .conv1d_forward = conv1d_forward_on_gpu,
                 .conv1d_backward = conv1d_backward_on_gpu,
                 .has_norm = has_norm_on_gpu,
                 .norm_forward = norm_forward_on_gpu,
                 .norm_backward = norm_backward_on_gpu,
                 .has_depthwise = has_depthwise_on_gpu,
                 .depthwise_forward = depthwise_forward_on_gpu,
                 .depthwise_backward = depthwise_backward_on_gpu,
                 .has_max_pool = has_max_pool_on_gpu,
                 .max_pool_forward = max_pool_forward_on_gpu,
                 .max_pool_backward = max_pool_backward_on_gpu,
                 .column_sums = column_sums_on_gpu,
                 .has_half_column_sums = has_half_column_sums_on_gpu,
                 .half_column_sums = half_column_sums_on_gpu,
                 .has_add_norm = has_layer_norm_on_gpu,
                 .add_norm_forward = layer_norm_forward_on_gpu,
                 .add_norm_backward = layer_norm_backward_on_gpu,
                 .has_gelu = has_gelu_on_gpu,
                 .gelu_forward = gelu_forward_on_gpu,
                 .gelu_backward = gelu_backward_on_gpu,
                 .add_embedding_grad = add_embedding_grad_on_gpu,
                 .has_loss = has_loss_on_gpu,
                 .loss = loss_on_gpu,
                 .image_batch = image_batch_on_gpu,
                 .delay = delay_on_gpu});
  // Attention: cuDNN's before FlashAttention 2, which knows no Hopper.
  at::globalContext().setSDPPriorityOrder(
      {static_cast<std::int64_t>(at::SDPBackend::cudnn_attention),
       static_cast<std::int64_t>(at::SDPBackend::flash_attention),
       static_cast<std::int64_t>(at::SDPBackend::efficient_attention),
       static_cast<std::int64_t>(at::SDPBackend::math),
       static_cast<std::int64_t>(at::SDPBackend::overrideable)});
  // The default stream cannot be captured: the thread works on another.
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(
      /*isHighPriority=*/false, static_cast<c10::DeviceIndex>(index)));
  return new CudaDevice(index);
}
