// SPDX-License-Identifier: Apache-2.0
// The same arithmetic as kernels/update.h on the CPU, element by element.
#include "lockstep/cuda/update.cuh"

namespace lockstep {
namespace {

struct Sgd {
  static constexpr bool kWritesValues = true, kWritesState = true;
  // What LARS adds to SGD is one factor of gradient and decay.
  __device__ static void weigh(Rule& n, double trust) {
    n.r.grad_scale = static_cast<float>(trust * n.r.grad_scale);
    n.weight_decay = static_cast<float>(trust * n.weight_decay);
  }
  __device__ void operator()(const Rule& n, Element& e) const {
    float d = e.grad * n.r.grad_scale + n.weight_decay * e.value;
    if (n.momentum != 0.f) {
      e.first = n.momentum * e.first + d;
      d = n.nesterov ? d + n.momentum * e.first : e.first;
    }
    e.value -= n.r.lr * d;
  }
};

struct Adam {
  static constexpr bool kWritesValues = true, kWritesState = true;
  __device__ static void weigh(Rule&, double) {}
  __device__ void operator()(const Rule& n, Element& e) const {
    float d = e.grad * n.r.grad_scale;
    if (!n.decoupled_decay) d += n.weight_decay * e.value;
    e.first += n.take1 * (d - e.first);
    e.second = n.beta2 * e.second + n.take2 * d * d;
    if (n.decoupled_decay) e.value -= n.r.lr * n.weight_decay * e.value;
    const float root = sqrtf(e.second) / sqrtf(n.r.correction2) + n.eps;
    e.value -= n.r.lr / n.r.correction1 * e.first / root;
  }
};

// The second pass: layerwise.cu moved the moments on.
struct LambApply {
  static constexpr bool kWritesValues = true, kWritesState = false;
  __device__ static void weigh(Rule& n, double trust) {
    n.r.lr = static_cast<float>(trust * n.r.lr);
  }
  __device__ void operator()(const Rule& n, Element& e) const {
    e.value -= n.r.lr * lamb_step(n, e);
  }
};

template <class Op>
__global__ void __launch_bounds__(kUpdateThreads)
    update(UpdatePointers p, UpdateNumbers n) {
  const UpdateChunk chunk = p.chunks[blockIdx.x];
  Rule rule = rule_of(n, chunk);
  if (p.trust) Op::weigh(rule, p.trust[chunk.run]);
  Op op;
  take_chunk(p, chunk, rule, op);
}

__global__ void put(UpdateRates rates, UpdateRates* to) { *to = rates; }

template <class Op>
void launch(const UpdatePointers& p, const UpdateNumbers& n,
            cudaStream_t stream) {
  update<Op>
      <<<static_cast<unsigned>(p.num_chunks), kUpdateThreads, 0, stream>>>(p,
                                                                           n);
}

}  // namespace

void launch_sgd(const UpdatePointers& p, const UpdateNumbers& n,
                cudaStream_t stream) {
  launch<Sgd>(p, n, stream);
}

void launch_adam(const UpdatePointers& p, const UpdateNumbers& n,
                 cudaStream_t stream) {
  launch<Adam>(p, n, stream);
}

void launch_lamb_apply(UpdatePointers p, const UpdateNumbers& n,
                       cudaStream_t stream) {
  p.grads = nullptr;
  launch<LambApply>(p, n, stream);
}

void launch_put_rates(const UpdateRates& rates, UpdateRates* to,
                      cudaStream_t stream) {
  put<<<1, 1, 0, stream>>>(rates, to);
}

}  // namespace lockstep
