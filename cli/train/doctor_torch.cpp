// SPDX-License-Identifier: Apache-2.0
// LibTorch as it is loaded, which need not be the one we were built against,
// and our own half for GPUs.
#include <ATen/Version.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <filesystem>

#include "cli/doctor.h"
#include "cli/torch_version.h"
#include "lockstep/core/error.h"
#include "lockstep/device/cuda_entry.h"

namespace lockstep::cli {
namespace {

std::filesystem::path loaded_from() {
  Dl_info info{};
  // Any function of libtorch_cpu will do.
  if (dladdr(reinterpret_cast<void*>(&at::show_config), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).lexically_normal();
}

// It is opened as a run would open it: being there is not enough.
Finding examine_cuda_half() {
  const std::filesystem::path beside = cuda_library_path();
  if (std::filesystem::exists(beside)) {
    try {
      cuda_function(beside.string(), kCudaEntry);
      return {.part = "CUDA half", .found = beside.string()};
    } catch (const Error& e) {
      return {.part = "CUDA half",
              .state = State::warn,
              .found = e.what(),
              .advice =
                  "only train.device=cuda needs it: have LibTorch's CUDA "
                  "libraries (torch and nvidia-* wheels) in the path"};
    }
  }
  return {.part = "CUDA half",
          .state = State::missing,
          .found = "no liblockstep_cuda.so beside the program's libraries",
          .advice =
              "only train.device=cuda needs it: `make build` makes it "
              "where nvcc is"};
}

}  // namespace

std::string loaded_torch_version() {
  // LibTorch has no function for it; its own description names it.
  const std::string text = at::show_config(), key = "TORCH_VERSION=";
  const auto at = text.find(key);
  if (at == std::string::npos) return "unknown";
  const auto begin = at + key.size();
  return text.substr(begin, text.find_first_of(", \n", begin) - begin);
}

Findings examine_libtorch() {
  const std::string loaded = loaded_torch_version(), built = TORCH_VERSION;
  Finding f{.part = "LibTorch",
            .found = fmt::format("{} ({})", loaded, loaded_from().string()),
            .needed = true};
  if (loaded != built) {
    f.state = State::missing;
    f.advice = fmt::format(
        "this binary was built against {}: point LD_LIBRARY_PATH at its "
        "torch/lib, or build again",
        built);
  }
  return {f, examine_cuda_half()};
}

}  // namespace lockstep::cli
