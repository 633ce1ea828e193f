// SPDX-License-Identifier: Apache-2.0
// Fused updates on a GPU: one pass over flat parameters, gradients zeroed on
// the way. Launched on the given stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct UpdatePointers {
  float *values, *grads, *first, *second;
  std::int64_t numel;
};

struct UpdateNumbers {
  float lr, weight_decay, grad_scale;
  float momentum;
  bool nesterov, first_step;
  float beta1, beta2, eps, correction1, correction2;
  bool decoupled_decay, zero_grads;
};

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream);
void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream);

}  // namespace lockstep
