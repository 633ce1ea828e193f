// SPDX-License-Identifier: Apache-2.0
// "cpu", "cuda", "cuda:N" -> Device. The CUDA half is a library of its own,
// opened here and nowhere else, and never closed: torch keeps pointers into it.
#include <dlfcn.h>
#include <torch/version.h>

#include <charconv>
#include <filesystem>

#include "lockstep/core/error.h"
#include "lockstep/core/version.h"
#include "lockstep/device/cpu_device.h"
#include "lockstep/device/cuda_entry.h"
#include "lockstep/device/device.h"

namespace lockstep {
namespace {

[[noreturn]] void unknown(const std::string& name) {
  throw Error(Fault::config, "train.device", "'" + name + "' is not a device",
              "one of cpu, cuda, cuda:0, cuda:1, …");
}

// "cuda" is the first one.
int cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  int index = -1;
  const char* begin = name.data() + 5;
  const char* end = name.data() + name.size();
  const auto [stop, failed] = std::from_chars(begin, end, index);
  if (failed != std::errc{} || stop != end || index < 0) unknown(name);
  return index;
}

void* open_library(const std::string& name) {
  // Beside this library first, so that a build never opens another's; then
  // wherever the loader looks.
  const std::filesystem::path beside = cuda_library_path();
  const std::string path = std::filesystem::exists(beside)
                               ? beside.string()
                               : std::string(kCudaLibrary);
  // Global, since torch's own CUDA libraries find each other that way.
  if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
    return library;
  throw Error(
      Fault::device, name,
      std::string("the CUDA half cannot be opened: ") + dlerror(),
      "build it where nvcc is (make build says whether it was) and have "
      "LibTorch's CUDA libraries and NVIDIA's driver on this machine; "
      "or use --set train.device=cpu");
}

std::unique_ptr<Device> open_cuda(const std::string& name) {
  const int index = cuda_index(name);
  auto* entry = reinterpret_cast<CudaEntry*>(cuda_function(name, kCudaEntry));
  return std::unique_ptr<Device>(
      entry(index, version_text().c_str(), TORCH_VERSION));
}

}  // namespace

std::filesystem::path cuda_library_path() {
  Dl_info found{};
  check(dladdr(reinterpret_cast<const void*>(&cuda_library_path), &found) != 0,
        "this library knows its own path");
  return std::filesystem::path(found.dli_fname).parent_path() / kCudaLibrary;
}

void* cuda_function(const std::string& wanted, const char* name) {
  if (void* found = dlsym(open_library(wanted), name)) return found;
  throw Error(Fault::device, wanted,
              std::string(kCudaLibrary) + " is not Lockstep's",
              "build again; the two libraries belong together");
}

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return make_cpu_device();
  if (name == "cuda" || name.starts_with("cuda:")) return open_cuda(name);
  unknown(name);
}

}  // namespace lockstep
