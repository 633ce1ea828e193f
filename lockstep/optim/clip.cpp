// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/clip.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lockstep/kernels/update.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {

double grad_norm(FlatParams& params) {
  params.settle_grads();
  const at::Tensor& grads = params.grads();
  if (grads.is_cpu())
    return norm_of(grads.const_data_ptr<float>(), grads.numel());
  return at::linalg_vector_norm(grads).item<double>();
}

double clip_scale(double norm, double max_norm) {
  if (max_norm == 0) return 1;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

at::Tensor clip_scale_on_device(FlatParams& params, double max_norm) {
  params.settle_grads();
  const at::Tensor norm = at::linalg_vector_norm(params.grads());
  return (norm + 1e-6).reciprocal_().mul_(max_norm).clamp_max_(1);
}

}  // namespace lockstep
