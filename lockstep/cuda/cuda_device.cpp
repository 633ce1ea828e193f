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

#include <cmath>
#include <mutex>

#include "lockstep/core/version.h"
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/event_clock.h"
#include "lockstep/cuda/update.h"
#include "lockstep/device/cuda_entry.h"
#include "lockstep/device/device.h"

namespace lockstep {
namespace {

UpdatePointers pointers(const UpdateArgs& a) {
  const auto at = [](const at::Tensor& t) {
    return t.defined() ? t.data_ptr<float>() : nullptr;
  };
  return {at(a.values), at(a.grads), at(a.first), at(a.second),
          a.values.numel()};
}

UpdateNumbers numbers(const UpdateArgs& a) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const auto step = static_cast<double>(a.step);
  return {.lr = f(a.lr),
          .weight_decay = f(a.weight_decay),
          .grad_scale = f(a.grad_scale),
          .momentum = f(a.momentum),
          .nesterov = a.nesterov,
          .first_step = a.step == 1,
          .beta1 = f(a.beta1),
          .beta2 = f(a.beta2),
          .eps = f(a.eps),
          .correction1 = f(1 - std::pow(a.beta1, step)),
          .correction2 = f(1 - std::pow(a.beta2, step)),
          .decoupled_decay = a.decoupled_decay,
          .zero_grads = a.zero_grads};
}

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

 private:
  cudaStream_t stream() const {
    return c10::cuda::getCurrentCUDAStream(index_).stream();
  }

  c10::DeviceIndex index_;
  EventClock clock_;
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
  return new CudaDevice(index);
}
