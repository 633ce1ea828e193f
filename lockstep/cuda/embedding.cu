// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/embedding.h"

#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

// A block for each place in the sorted list; only the first of a token works.
__global__ void __launch_bounds__(kThreads) grad_kernel(EmbeddingArgs a) {
  const std::int64_t first = blockIdx.x;
  const int token = a.tokens[first];
  if (first > 0 && a.tokens[first - 1] == token) return;
  std::int64_t end = first + 1;
  while (end < a.rows && a.tokens[end] == token) ++end;
  float* to = a.to + static_cast<std::int64_t>(token) * a.width;
  for (int c = static_cast<int>(threadIdx.x); c < a.width; c += kThreads) {
    float sum = 0.f;
#pragma unroll 8
    for (std::int64_t i = first; i < end; ++i)
      sum += a.grad[a.order[i] * a.width + c];
    to[c] += sum;
  }
}

}  // namespace

void launch_embedding_grad(const EmbeddingArgs& args, cudaStream_t stream) {
  grad_kernel<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(args);
  cuda_check(cudaGetLastError(), "embedding's gradient");
}

}  // namespace lockstep
