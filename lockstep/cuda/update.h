// SPDX-License-Identifier: Apache-2.0
// Fused updates on a GPU: one launch over flat parameters whatever their
// decay, gradients zeroed on the way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

// Elements one block updates; a table of them covers the runs of an update.
struct UpdateChunk {
  std::int64_t begin;
  std::int32_t numel;
  std::int32_t flags;  // kDecay, kZero
};
inline constexpr std::int32_t kDecay = 1, kZero = 2;
inline constexpr std::int64_t kChunkNumel = 4096;

struct UpdatePointers {
  float *values, *grads, *first, *second;
  const UpdateChunk* chunks;
  std::int64_t num_chunks;
  // Elements from a multiple of 16 bytes to element 0, the same for all of the
  // above; negative when they differ, and elements go one by one.
  int offset;
};

// What changes from step to step. Four floats: UpdateArgs::rates holds one.
struct UpdateRates {
  float lr, grad_scale, correction1, correction2;
};

struct UpdateNumbers {
  UpdateRates now;
  const UpdateRates* rates;  // read there instead of `now` unless null
  float weight_decay, momentum;
  float beta1, beta2, eps;
  bool nesterov, decoupled_decay;
};

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream);
void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream);
void launch_put_rates(const UpdateRates& rates, UpdateRates* to,
                      cudaStream_t stream);

}  // namespace lockstep
