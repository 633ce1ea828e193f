// SPDX-License-Identifier: Apache-2.0
// A GPU as a Device, and the one function this library exports.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>

#include "lockstep/core/version.h"
#include "lockstep/cuda/conv1d_op.h"
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/delay.h"
#include "lockstep/cuda/depthwise_op.h"
#include "lockstep/cuda/event_clock.h"
#include "lockstep/cuda/graph.h"
#include "lockstep/cuda/loss.h"
#include "lockstep/cuda/max_pool_op.h"
#include "lockstep/cuda/norm_op.h"
#include "lockstep/cuda/token_op.h"
#include "lockstep/cuda/update.h"
#include "lockstep/device/cuda_entry.h"
#include "lockstep/device/device.h"

namespace lockstep {
namespace {

UpdateRates rates_of(const UpdateArgs& a) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const auto step = static_cast<double>(a.step);
  return {.lr = f(a.lr),
          .grad_scale = f(a.grad_scale),
          .correction1 = f(1 - std::pow(a.beta1, step)),
          .correction2 = f(1 - std::pow(a.beta2, step))};
}

UpdateRates* rates_at(const UpdateArgs& a) {
  if (!a.rates.defined()) return nullptr;
  return reinterpret_cast<UpdateRates*>(a.rates.data_ptr<float>());
}

UpdateNumbers numbers(const UpdateArgs& a) {
  const auto f = [](double x) { return static_cast<float>(x); };
  return {.now = rates_of(a),
          .rates = rates_at(a),
          .weight_decay = f(a.weight_decay),
          .momentum = f(a.momentum),
          .beta1 = f(a.beta1),
          .beta2 = f(a.beta2),
          .eps = f(a.eps),
          .nesterov = a.nesterov,
          .decoupled_decay = a.decoupled_decay};
}

std::vector<UpdateRun> runs_of(const UpdateArgs& a) {
  if (!a.runs.empty()) return a.runs;
  return {{.begin = 0, .numel = a.values.numel(), .zero = a.zero_grads}};
}

// See UpdatePointers.
int offset_of(const UpdateArgs& a) {
  int offset = -1;
  for (const at::Tensor& t : {a.values, a.grads, a.first, a.second}) {
    if (!t.defined()) continue;
    const auto here = static_cast<int>(
        reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) / 4 % 4);
    if (offset >= 0 && here != offset) return -1;
    offset = here;
  }
  return offset;
}

// Runs cut into what one block updates, on the device.
at::Tensor chunks_of(const std::vector<UpdateRun>& runs, c10::Device device) {
  std::vector<UpdateChunk> chunks;
  for (const UpdateRun& run : runs) {
    const std::int32_t flags =
        (run.decay ? kDecay : 0) | (run.zero ? kZero : 0);
    const std::int64_t end = run.begin + run.numel;
    for (std::int64_t i = run.begin; i < end;) {
      // Later chunks begin where four elements can be read at once.
      const std::int64_t next =
          std::min(end, (i + kChunkNumel) / kChunkNumel * kChunkNumel);
      chunks.push_back({i, static_cast<std::int32_t>(next - i), flags});
      i = next;
    }
  }
  static_assert(sizeof(UpdateChunk) == 2 * sizeof(std::int64_t));
  const auto count = static_cast<std::int64_t>(chunks.size());
  return at::from_blob(chunks.data(), {count, 2}, at::kLong).to(device);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : index_(static_cast<c10::DeviceIndex>(index)),
        clock_(index),
        pool_(at::cuda::graph_pool_handle()) {}

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
    // Shapes repeat from step to step: let cuDNN look for its best kernels.
    at::globalContext().setBenchmarkCuDNN(true);
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

  void sgd(const UpdateArgs& args) override {
    launch_sgd(pointers(args), numbers(args), stream());
    cuda_check(cudaGetLastError(), "sgd update");
  }
  void adam(const UpdateArgs& args) override {
    launch_adam(pointers(args), numbers(args), stream());
    cuda_check(cudaGetLastError(), "adam update");
  }
  void put_rates(const UpdateArgs& args) override {
    launch_put_rates(rates_of(args), rates_at(args), stream());
    cuda_check(cudaGetLastError(), "rates");
  }

  std::vector<std::unique_ptr<Captured>> capture(
      const std::function<void(const Cut&)>& work) override {
    return capture_graphs(work, pool_, index_);
  }
  std::string cannot_capture() const override { return {}; }

 private:
  UpdatePointers pointers(const UpdateArgs& a) {
    const auto at = [](const at::Tensor& t) {
      return t.defined() ? t.data_ptr<float>() : nullptr;
    };
    const at::Tensor& chunks = table_of(runs_of(a));
    return {at(a.values),
            at(a.grads),
            at(a.first),
            at(a.second),
            reinterpret_cast<const UpdateChunk*>(chunks.data_ptr()),
            chunks.size(0),
            offset_of(a)};
  }

  // Kept for good: a captured update goes on reading its table.
  const at::Tensor& table_of(const std::vector<UpdateRun>& runs) {
    for (const auto& [known, table] : tables_)
      if (known == runs) return table;
    return tables_.emplace_back(runs, chunks_of(runs, torch())).second;
  }

  cudaStream_t stream() const {
    return c10::cuda::getCurrentCUDAStream(index_).stream();
  }

  c10::DeviceIndex index_;
  EventClock clock_;
  at::cuda::MempoolId_t pool_;
  std::list<std::pair<std::vector<UpdateRun>, at::Tensor>> tables_;
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
  const int count = c10::cuda::device_count();
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
