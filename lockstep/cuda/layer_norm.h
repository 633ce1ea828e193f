// SPDX-License-Identifier: Apache-2.0
// Layer normalisation of a transformer's residual stream, with the branch that
// is added to it before. The stream stays fp32, as PyTorch's autocast keeps it:
// a sum over all layers in bf16 would lose what late layers add. Branches come,
// and normalised features go, in bf16: those are what matrix products read.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct LayerNormSizes {
  std::int64_t rows;
  int width;  // a multiple of 8, at most 1024
};

bool has_layer_norm_kernel(const LayerNormSizes& s);

// sum = x + branch + branch_bias; output = (sum - mean) / deviation * weight +
// bias. Without a branch there is no sum to write. branch_bias may be null.
struct LayerNormForwardArgs {
  const float* x;
  const __nv_bfloat16* branch;
  const float* branch_bias;
  const float *weight, *bias;
  float eps;
  float* sum;
  __nv_bfloat16* output;
  float2* statistics;  // [rows]: mean, 1 / deviation
};
void launch_layer_norm(const LayerNormSizes& s,
                       const LayerNormForwardArgs& args, cudaStream_t stream);

// x_grad = sum_grad + gradient through the normalisation; the branch's is the
// same in bf16, and its bias's the sum over rows. What may be null: sum_grad,
// branch_grad, branch_bias_grad.
struct LayerNormBackwardArgs {
  const __nv_bfloat16* grad;
  const float* sum_grad;
  const float* sum;
  const float2* statistics;
  const float* weight;
  float* x_grad;
  __nv_bfloat16* branch_grad;
  float *weight_grad, *bias_grad, *branch_bias_grad;
  float* room;  // layer_norm_room_floats()
};
std::int64_t layer_norm_room_floats(const LayerNormSizes& s);
void launch_layer_norm_backward(const LayerNormSizes& s,
                                const LayerNormBackwardArgs& args,
                                cudaStream_t stream);

}  // namespace lockstep
