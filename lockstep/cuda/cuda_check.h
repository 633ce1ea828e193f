// SPDX-License-Identifier: Apache-2.0
// A CUDA call that failed becomes Error{Fault::device}.
#pragma once

#include <cuda_runtime_api.h>

#include "lockstep/core/error.h"

namespace lockstep {

inline void cuda_check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Error(Fault::device, "cuda",
              std::string(what) + ": " + cudaGetErrorString(result));
}

}  // namespace lockstep
