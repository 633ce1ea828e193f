// SPDX-License-Identifier: Apache-2.0
// Tensors as our kernels take them: the stream they live on, their values as
// the compiler's bf16, whether sixteen bytes can be read at once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include <cstdint>

namespace lockstep {

inline cudaStream_t stream_of(const at::Tensor& t) {
  return c10::cuda::getCurrentCUDAStream(t.device().index()).stream();
}

// Null for no tensor.
inline __nv_bfloat16* bf16_of(const at::Tensor& t) {
  if (!t.defined()) return nullptr;
  return reinterpret_cast<__nv_bfloat16*>(t.data_ptr());
}

inline bool is_aligned(const at::Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 16 == 0;
}

// Gradients come from anywhere: a copy of those that lie askew.
inline at::Tensor aligned(const at::Tensor& t) {
  return !t.defined() || is_aligned(t) ? t : t.clone();
}

// Where kernels sum: float, plain, on `x`'s device.
inline at::TensorOptions float_room(const at::Tensor& x) {
  return x.options()
      .dtype(at::kFloat)
      .memory_format(at::MemoryFormat::Contiguous);
}

}  // namespace lockstep
