// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of many rows, or of a large vocabulary: a block a row, which is
// read from memory once where it fits into shared memory, and sums in one
// order. loss_kernel.h is for few rows of few classes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct VocabLossArgs {
  const void* logits;  // bf16 or float, rows `stride` apart
  void* grad;          // of the same type, rows `grad_stride` apart
  const std::int64_t* targets;
  std::int64_t rows, stride, grad_stride;
  int classes;
  float smoothing, scale;
  float* losses;  // [rows]
  int* rights;    // [rows]; -1 for a target that is no class
  float* loss_sum;
  std::int64_t* correct;  // `no_such_class` for a target that is none
  std::int64_t no_such_class;
  bool half;     // bf16
  bool aligned;  // rows begin at, and may be read to, multiples of 16 bytes
};

// Zeros are written to grad's columns beyond `classes`.
void launch_vocab_loss(const VocabLossArgs& args, cudaStream_t stream);

}  // namespace lockstep
