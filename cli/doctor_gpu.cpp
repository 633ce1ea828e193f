// SPDX-License-Identifier: Apache-2.0
// GPUs, driver and NCCL, asked through the driver's own libraries, opened by
// name: this binary links none of them and says what is there on any machine.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>

#include "cli/doctor.h"
#include "lockstep/core/units.h"
#include "lockstep/hardware/topology.h"

namespace lockstep::cli {
namespace {

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

Library open_library(const char* name) {
  return Library(dlopen(name, RTLD_NOW | RTLD_LOCAL));
}

// A function of a library, or null.
template <class Function>
Function* find_function(const Library& library, const char* name) {
  return library ? reinterpret_cast<Function*>(dlsym(library.get(), name))
                 : nullptr;
}

std::string driver_version() {
  const Library nvml = open_library("libnvidia-ml.so.1");
  auto* init = find_function<int()>(nvml, "nvmlInit_v2");
  auto* version =
      find_function<int(char*, unsigned)>(nvml, "nvmlSystemGetDriverVersion");
  auto* shutdown = find_function<int()>(nvml, "nvmlShutdown");
  std::array<char, 96> text{};
  if (init == nullptr || version == nullptr || shutdown == nullptr ||
      init() != 0)
    return "of unknown version";
  const bool answered = version(text.data(), text.size()) == 0;
  shutdown();
  return answered ? text.data() : "of unknown version";
}

// CUDA's driver interface, as far as counting and naming devices needs it.
struct Driver {
  Library library = open_library("libcuda.so.1");
  int (*init)(unsigned) = find_function<int(unsigned)>(library, "cuInit");
  int (*count)(int*) = find_function<int(int*)>(library, "cuDeviceGetCount");
  int (*name)(char*, int,
              int) = find_function<int(char*, int, int)>(library,
                                                         "cuDeviceGetName");
  int (*memory)(std::size_t*, int) =
      find_function<int(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
  int (*version)(int*) = find_function<int(int*)>(library,
                                                  "cuDriverGetVersion");

  bool complete() const {
    return init != nullptr && count != nullptr && name != nullptr &&
           memory != nullptr && version != nullptr;
  }
};

std::string name_devices(const Driver& driver, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    std::array<char, 128> name{};
    std::size_t bytes = 0;
    driver.name(name.data(), static_cast<int>(name.size()), i);
    driver.memory(&bytes, i);
    out += fmt::format("{}cuda:{} {} ({})", out.empty() ? "" : ", ", i,
                       name.data(), format_bytes(static_cast<double>(bytes)));
  }
  return out;
}

Finding no_gpu(const std::string& found, const std::string& advice) {
  return {
      .part = "GPU", .state = State::missing, .found = found, .advice = advice};
}

// How several GPUs reach each other is nvidia-smi's to say.
Finding examine_pairs() {
  const PairsHere here = pairs_here();
  if (!here.why_unknown.empty())
    return {.part = "GPU pairs",
            .state = State::warn,
            .found = here.why_unknown,
            .advice =
                "probe and machine.json cannot tell how GPUs reach each "
                "other: put the driver's nvidia-smi in the path"};
  std::string found;
  for (const DevicePair& p : here.pairs)
    found +=
        fmt::format("{}{}-{} {}", found.empty() ? "" : ", ", p.a, p.b, p.path);
  return {.part = "GPU pairs", .found = found};
}

Findings examine_driver() {
  const Driver driver;
  if (!driver.complete())
    return {no_gpu("no NVIDIA driver (libcuda.so.1)",
                   "train.device=cuda will be refused here; cpu works")};
  int count = 0, version = 0;
  const int code = driver.init(0);
  if (code != 0 || driver.count(&count) != 0 || count == 0)
    return {no_gpu(fmt::format("a driver, but no device (cuInit: {})", code),
                   "see that nvidia-smi lists one and that "
                   "CUDA_VISIBLE_DEVICES does not hide it")};
  driver.version(&version);
  Finding f{.part = "driver",
            .found = fmt::format("{}, for CUDA up to {}.{}", driver_version(),
                                 version / 1000, version % 1000 / 10)};
  // LibTorch 2.11 is built for CUDA 13.0.
  if (version < 13000) {
    f.state = State::warn;
    f.advice = "LibTorch needs CUDA 13.0: install driver 580 or later";
  }
  Findings out = {{.part = "GPU", .found = name_devices(driver, count)}, f};
  if (count > 1) out.push_back(examine_pairs());
  return out;
}

Finding examine_nccl() {
  const Library nccl = open_library("libnccl.so.2");
  auto* version = find_function<int(int*)>(nccl, "ncclGetVersion");
  int v = 0;
  if (version != nullptr && version(&v) == 0)
    return {
        .part = "NCCL",
        .found = fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100)};
  return {.part = "NCCL",
          .state = State::missing,
          .found = "no libnccl.so.2 in the library path",
          .advice =
              "only comm.kind=nccl needs it: pip install "
              "nvidia-nccl-cu13, its lib folder in LD_LIBRARY_PATH"};
}

}  // namespace

Findings examine_gpus() {
  Findings all = examine_driver();
  all.push_back(examine_nccl());
  return all;
}

}  // namespace lockstep::cli
