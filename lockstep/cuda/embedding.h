// SPDX-License-Identifier: Apache-2.0
// The gradient of an embedding: rows that belong to the same token are added up
// in the order they came, by one block each: no atomics, the same bits always.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep {

struct EmbeddingArgs {
  const int* tokens;          // [rows], sorted
  const std::int64_t* order;  // [rows]: which row of grad that is
  const float* grad;          // [rows, width]
  float* to;                  // [vocabulary, width], added to
  std::int64_t rows;
  int width;
};
void launch_embedding_grad(const EmbeddingArgs& args, cudaStream_t stream);

}  // namespace lockstep
