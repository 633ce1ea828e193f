// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/delay.h"

namespace lockstep {
namespace {

__device__ unsigned long long global_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(unsigned long long ns) {
  const unsigned long long begin = global_ns();
  while (global_ns() - begin < ns) __nanosleep(200);
}

}  // namespace

void delay_on_gpu(c10::Stream stream, double seconds) {
  const c10::cuda::CUDAStream on(stream);
  const c10::cuda::CUDAGuard guard(on.device_index());
  spin<<<1, 1, 0, on.stream()>>>(
      static_cast<unsigned long long>(seconds * 1e9));
  cuda_check(cudaGetLastError(), "delay");
}

}  // namespace lockstep
