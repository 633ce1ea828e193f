// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with what follows it (a residual added, ReLU, ReLU6 or
// GELU) over bf16 rows of channels: NHWC images. Forward reads the input twice
// and writes once, backward likewise; LibTorch makes four to six passes of
// each.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct NormSizes {
  std::int64_t rows;
  int channels;  // a multiple of 8, at most 2048
};

bool has_norm_kernel(const NormSizes& s);

// What is known of each channel: [6][channels].
struct NormSaved {
  float* data;
  int channels;
  __host__ __device__ float* mean() const { return data; }
  __host__ __device__ float* inverse_std() const { return data + channels; }
  // Output before the activation: scale * x + shift.
  __host__ __device__ float* scale() const { return data + 2 * channels; }
  __host__ __device__ float* shift() const { return data + 3 * channels; }
  // Means of the gradient, and of the gradient times the normalised input.
  __host__ __device__ float* grad() const { return data + 4 * channels; }
  __host__ __device__ float* product() const { return data + 5 * channels; }
};

struct NormParams {
  const float *weight, *bias;  // weight null: 1
  float bias_scale;            // the bias counts so many times
  float *running_mean, *running_var;
  std::int64_t* batches;  // counted up; null: not counted
  float momentum, eps;
};

// Nothing above `cap`, nothing below `floor`: infinities for no activation. Or
// GELU, which takes no residual.
struct NormRange {
  float floor, cap;
  bool gelu;
};

// Where gradients go; weight may be null.
struct NormGrads {
  float *weight, *bias;
  float bias_scale;
};

// Sums of blocks, then of all in one order: the same bits every time.
std::int64_t norm_room_floats(const NormSizes& s);

// residual may be null.
void norm_forward(const NormSizes& s, const NormParams& params,
                  const NormRange& range, const __nv_bfloat16* input,
                  const __nv_bfloat16* residual, __nv_bfloat16* output,
                  const NormSaved& saved, float* room, cudaStream_t stream);

// `output` tells what the activation let through; null when there was no
// residual: then it is computed again. residual_grad may be null.
void norm_backward(const NormSizes& s, const NormRange& range,
                   const __nv_bfloat16* grad, const __nv_bfloat16* input,
                   const __nv_bfloat16* output, const NormSaved& saved,
                   __nv_bfloat16* input_grad, __nv_bfloat16* residual_grad,
                   const NormGrads& grads, float* room, cudaStream_t stream);

}  // namespace lockstep
