// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with what follows it in one go: a residual added, then
// ReLU, ReLU6 or GELU (gpu_table.h has the kernels). model/layers.h falls back
// on LibTorch's operations, one after the other.
#pragma once

#include <ATen/core/Tensor.h>

namespace lockstep {

enum class Activation { none, relu, relu6, gelu };

// A layer's parameters and state; all fp32 but `batches`, which is int64.
struct NormLayer {
  at::Tensor weight, bias;  // without a weight: 1
  double bias_scale = 1;    // the bias counts so many times
  at::Tensor running_mean, running_var, batches;
  double momentum = 0.1, eps = 1e-5;
  bool training = true;
};

// Whether the function below can do it: a layer that trains, bf16 images on a
// GPU with channels last. residual may be undefined; GELU takes none.
bool has_norm_kernel(const NormLayer& layer, const at::Tensor& x,
                     const at::Tensor& residual);

// activation(batch_norm(x) + residual), differentiable. Moves the running
// statistics on.
at::Tensor norm_activation(const NormLayer& layer, const at::Tensor& x,
                           Activation activation, const at::Tensor& residual);

// The activation alone, where it came with LibTorch's normalisation.
at::Tensor activate(at::Tensor x, Activation activation);

}  // namespace lockstep
