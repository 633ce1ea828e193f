// SPDX-License-Identifier: Apache-2.0
// 1-D convolution with ReLU and max pooling on tensor cores: bf16 operands,
// fp32 sums, channels last and padded to eights. A window of such a signal is
// contiguous, so the convolution is a matrix product whose left operand is
// never built: neighbouring rows overlap in shared memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct Conv1dSizes {
  int batch, in, length, out, taps, padding, pool;
  int windows;  // positions / pool

  static int eights(int channels) { return (channels + 7) / 8 * 8; }
  int in8() const { return eights(in); }
  int out8() const { return eights(out); }
};

// Sizes that have kernels: other models' go to cuDNN.
bool has_tensor_core_kernel(const Conv1dSizes& s);

// A place in its window, or this where ReLU cut the maximum off.
inline constexpr std::uint8_t kCutOff = 255;

// Weights as the kernels read them. `packed` has packed_bytes(); `flipped` says
// that it is for the data gradient.
std::int64_t packed_bytes(const Conv1dSizes& s, bool flipped);
void pack_weights(const Conv1dSizes& s, const float* weight, bool flipped,
                  void* packed, cudaStream_t stream);

// input: fp32 [batch, length] when in is 1, else bf16 [batch, length, in8].
// output: bf16 [batch, windows, out8], where: the same in bytes.
void conv1d_forward(const Conv1dSizes& s, const void* input, const void* packed,
                    const float* bias, __nv_bfloat16* output,
                    std::uint8_t* where, cudaStream_t stream);

// grad: bf16 [batch, windows, out8]. to: bf16 [batch, length, in8]. in > 1.
void conv1d_data_gradient(const Conv1dSizes& s, const __nv_bfloat16* grad,
                          const std::uint8_t* where, const void* packed,
                          __nv_bfloat16* to, cudaStream_t stream);

// Sums of each block, then of all in one order: the same bits every time.
// weight: fp32 [out, in, taps], bias: fp32 [out]. room: room_floats().
std::int64_t room_floats(const Conv1dSizes& s);
void conv1d_weight_gradient(const Conv1dSizes& s, const void* input,
                            const __nv_bfloat16* grad,
                            const std::uint8_t* where, float* weight,
                            float* bias, float* room, cudaStream_t stream);

}  // namespace lockstep
