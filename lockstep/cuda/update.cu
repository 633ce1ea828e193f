// SPDX-License-Identifier: Apache-2.0
// The same arithmetic as kernels/update.h on the CPU, element by element.
#include "lockstep/cuda/update.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

__device__ float decayed_grad(const UpdatePointers& p, const UpdateNumbers& n,
                              std::int64_t i) {
  const float grad = p.grads[i] * n.grad_scale;
  if (n.zero_grads) p.grads[i] = 0.f;
  return n.decoupled_decay ? grad : grad + n.weight_decay * p.values[i];
}

__global__ void sgd(UpdatePointers p, UpdateNumbers n) {
  const std::int64_t i =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= p.numel) return;
  float grad = decayed_grad(p, n, i);
  if (n.momentum != 0.f) {
    const float velocity = n.first_step ? grad : n.momentum * p.first[i] + grad;
    p.first[i] = velocity;
    grad = n.nesterov ? grad + n.momentum * velocity : velocity;
  }
  p.values[i] -= n.lr * grad;
}

__global__ void adam(UpdatePointers p, UpdateNumbers n) {
  const std::int64_t i =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= p.numel) return;
  const float grad = decayed_grad(p, n, i);
  const float mean = n.beta1 * p.first[i] + (1.f - n.beta1) * grad;
  const float square = n.beta2 * p.second[i] + (1.f - n.beta2) * grad * grad;
  p.first[i] = mean, p.second[i] = square;
  float value = p.values[i];
  if (n.decoupled_decay) value -= n.lr * n.weight_decay * value;
  const float root = sqrtf(square) / sqrtf(n.correction2) + n.eps;
  p.values[i] = value - n.lr / n.correction1 * mean / root;
}

unsigned blocks(std::int64_t numel) {
  return static_cast<unsigned>((numel + kThreads - 1) / kThreads);
}

}  // namespace

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream) {
  sgd<<<blocks(p.numel), kThreads, 0, stream>>>(p, n);
}

void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream) {
  adam<<<blocks(p.numel), kThreads, 0, stream>>>(p, n);
}

}  // namespace lockstep
