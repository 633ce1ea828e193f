// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/parallel.h"

#include <ATen/Parallel.h>

// Without it at::parallel_for compiles to a plain loop and nobody notices.
static_assert(_OPENMP, "this file needs -fopenmp");

namespace lockstep {

void parallel_for(std::int64_t count, std::int64_t grain,
                  c10::function_ref<void(std::int64_t, std::int64_t)> work) {
  at::parallel_for(0, count, grain, work);
}

}  // namespace lockstep
