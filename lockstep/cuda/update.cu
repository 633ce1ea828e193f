// SPDX-License-Identifier: Apache-2.0
// The same arithmetic as kernels/update.h on the CPU, element by element: four
// at a time between the first and last place of a chunk that allow it.
#include "lockstep/cuda/update.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

// What an element needs to know of its update.
struct Rule {
  UpdateRates r;
  float weight_decay, momentum, beta1, beta2, eps;
  bool nesterov, decoupled_decay, zero;
};

struct Sgd {
  __device__ static void update(const Rule& n, float& value, float& grad,
                                float& first, float&) {
    float d = grad * n.r.grad_scale + n.weight_decay * value;
    if (n.momentum != 0.f) {
      first = n.momentum * first + d;
      d = n.nesterov ? d + n.momentum * first : first;
    }
    value -= n.r.lr * d;
    if (n.zero) grad = 0.f;
  }
};

struct Adam {
  __device__ static void update(const Rule& n, float& value, float& grad,
                                float& first, float& second) {
    float d = grad * n.r.grad_scale;
    if (!n.decoupled_decay) d += n.weight_decay * value;
    first = n.beta1 * first + (1.f - n.beta1) * d;
    second = n.beta2 * second + (1.f - n.beta2) * d * d;
    if (n.decoupled_decay) value -= n.r.lr * n.weight_decay * value;
    const float root = sqrtf(second) / sqrtf(n.r.correction2) + n.eps;
    value -= n.r.lr / n.r.correction1 * first / root;
    if (n.zero) grad = 0.f;
  }
};

__device__ float4 load4(const float* p, std::int64_t i) {
  return p ? *reinterpret_cast<const float4*>(p + i) : float4{};
}
__device__ void store4(float* p, std::int64_t i, float4 v) {
  if (p) *reinterpret_cast<float4*>(p + i) = v;
}

template <class Update>
__device__ void one(const UpdatePointers& p, const Rule& n, std::int64_t i) {
  float value = p.values[i], grad = p.grads[i];
  float first = p.first ? p.first[i] : 0.f;
  float second = p.second ? p.second[i] : 0.f;
  Update::update(n, value, grad, first, second);
  p.values[i] = value;
  if (n.zero) p.grads[i] = grad;
  if (p.first) p.first[i] = first;
  if (p.second) p.second[i] = second;
}

template <class Update>
__device__ void four(const UpdatePointers& p, const Rule& n, std::int64_t i) {
  float4 value = load4(p.values, i), grad = load4(p.grads, i);
  float4 first = load4(p.first, i), second = load4(p.second, i);
  Update::update(n, value.x, grad.x, first.x, second.x);
  Update::update(n, value.y, grad.y, first.y, second.y);
  Update::update(n, value.z, grad.z, first.z, second.z);
  Update::update(n, value.w, grad.w, first.w, second.w);
  store4(p.values, i, value);
  if (n.zero) store4(p.grads, i, grad);
  store4(p.first, i, first);
  store4(p.second, i, second);
}

template <class Update>
__global__ void __launch_bounds__(kThreads)
    update(UpdatePointers p, UpdateNumbers n) {
  const UpdateChunk chunk = p.chunks[blockIdx.x];
  const Rule rule{n.rates ? *n.rates : n.now,
                  chunk.flags & kDecay ? n.weight_decay : 0.f,
                  n.momentum,
                  n.beta1,
                  n.beta2,
                  n.eps,
                  n.nesterov,
                  n.decoupled_decay,
                  (chunk.flags & kZero) != 0};
  const std::int64_t end = chunk.begin + chunk.numel;
  const std::int64_t t = threadIdx.x;
  if (p.offset < 0) {
    for (std::int64_t i = chunk.begin + t; i < end; i += kThreads)
      one<Update>(p, rule, i);
    return;
  }
  // Where four elements lie in 16 aligned bytes.
  const std::int64_t first4 =
      min((chunk.begin + p.offset + 3) / 4 * 4 - p.offset, end);
  const std::int64_t last4 = max((end + p.offset) / 4 * 4 - p.offset, first4);
  if (chunk.begin + t < first4) one<Update>(p, rule, chunk.begin + t);
#pragma unroll 2
  for (std::int64_t i = first4 + 4 * t; i < last4; i += 4 * kThreads)
    four<Update>(p, rule, i);
  if (last4 + t < end) one<Update>(p, rule, last4 + t);
}

__global__ void put(UpdateRates rates, UpdateRates* to) { *to = rates; }

}  // namespace

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream) {
  update<Sgd>
      <<<static_cast<unsigned>(p.num_chunks), kThreads, 0, stream>>>(p, n);
}

void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream) {
  update<Adam>
      <<<static_cast<unsigned>(p.num_chunks), kThreads, 0, stream>>>(p, n);
}

void launch_put_rates(const UpdateRates& rates, UpdateRates* to,
                      cudaStream_t stream) {
  put<<<1, 1, 0, stream>>>(rates, to);
}

}  // namespace lockstep
