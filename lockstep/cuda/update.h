// SPDX-License-Identifier: Apache-2.0
// Fused updates on a GPU: one launch over flat parameters whatever their
// decay, gradients zeroed on the way. LARS and LAMB take three: partial sums
// of squares, each tensor's trust from them, the step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

// Elements one block updates; a table of them covers the runs of an update.
struct UpdateChunk {
  std::int64_t begin;
  std::int32_t run;  // the run it is part of
  std::int16_t numel;
  std::int16_t flags;  // kDecay, kZero, kAdapt
};
inline constexpr int kDecay = 1, kZero = 2, kAdapt = 4;
inline constexpr std::int64_t kChunkNumel = 4096;

// Where a run's chunks lie in that table.
struct UpdateChunks {
  std::int64_t begin;
  std::int32_t count;
  std::int32_t flags;
};

struct UpdatePointers {
  float *values, *grads, *first, *second;
  const UpdateChunk* chunks;
  std::int64_t num_chunks;
  const double* trust;  // of each run, on top of its rate; null: 1
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
  float take1, beta2, take2, eps;  // take1 = 1 - beta1, take2 = 1 - beta2
  bool nesterov, decoupled_decay;
  float trust_coefficient;
  bool trust_clip;
};

// What LARS and LAMB find out of each tensor before they take their step.
struct TrustPointers {
  double2* partial;  // [num_chunks]
  double* trust;     // [num_runs]
  const UpdateChunks* runs;
  std::int64_t num_runs;
};

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream);
void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream);
// Trust from the norms of values and gradients; then launch_sgd() with it.
void launch_lars_trust(UpdatePointers p, const UpdateNumbers& n,
                       const TrustPointers& to, cudaStream_t stream);
// Moves the moments on and takes trust from the norms of values and of the
// step that follows; then launch_lamb_apply() with it.
void launch_lamb_trust(const UpdatePointers& p, const UpdateNumbers& n,
                       const TrustPointers& to, cudaStream_t stream);
void launch_lamb_apply(UpdatePointers p, const UpdateNumbers& n,
                       cudaStream_t stream);
void launch_put_rates(const UpdateRates& rates, UpdateRates* to,
                      cudaStream_t stream);

}  // namespace lockstep
