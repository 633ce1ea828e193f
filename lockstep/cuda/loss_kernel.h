// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of a batch in one block: sums in one order, no second launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct LossArgs {
  const float* logits;  // [rows, classes]
  const std::int64_t* targets;
  int rows, classes;
  float smoothing, scale;
  float* loss_sum;
  std::int64_t* correct;  // `no_such_class` for a target that is none
  std::int64_t no_such_class;
  float* grad;  // [rows, classes]
};

void launch_loss(const LossArgs& args, cudaStream_t stream);

}  // namespace lockstep
