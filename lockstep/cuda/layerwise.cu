// SPDX-License-Identifier: Apache-2.0
// What LARS and LAMB must know of a whole tensor before they change it: squares
// summed in double, by each thread over its elements, by each block over its
// threads, by one block over a tensor's chunks, always in the same order.
#include "lockstep/cuda/update.cuh"
#include "lockstep/kernels/trust.h"

namespace lockstep {
namespace {

constexpr unsigned kWarp = 32, kAll = 0xffffffffu;

__device__ double2 add(double2 a, double2 b) { return {a.x + b.x, a.y + b.y}; }

// The sum over a block of kUpdateThreads, in thread 0.
__device__ double2 block_sum(double2 v) {
  __shared__ double2 of_warp[kUpdateThreads / kWarp];
  for (unsigned lanes = kWarp / 2; lanes > 0; lanes /= 2)
    v = add(v, {__shfl_down_sync(kAll, v.x, lanes),
                __shfl_down_sync(kAll, v.y, lanes)});
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = v;
  __syncthreads();
  double2 sum = of_warp[0];
  for (unsigned i = 1; i < kUpdateThreads / kWarp; ++i)
    sum = add(sum, of_warp[i]);
  return sum;
}

__device__ double2 squares(float a, float b) {
  const double x = a, y = b;
  return {x * x, y * y};
}

struct LarsSquares {
  static constexpr bool kWritesValues = false, kWritesState = false;
  double2 sum{};  // of values, of gradients
  __device__ void operator()(const Rule&, const Element& e) {
    sum = add(sum, squares(e.value, e.grad));
  }
};

struct LambMoments {
  static constexpr bool kWritesValues = false, kWritesState = true;
  double2 sum{};  // of values, of steps
  __device__ void operator()(const Rule& n, Element& e) {
    const float d = e.grad * n.r.grad_scale;
    e.first += n.take1 * (d - e.first);
    e.second = n.beta2 * e.second + n.take2 * d * d;
    sum = add(sum, squares(e.value, lamb_step(n, e)));
  }
};

__device__ TrustRule trust_rule(const UpdateNumbers& n) {
  return {n.trust_coefficient, n.trust_clip};
}

struct LarsTrust {
  __device__ static double of(const UpdateNumbers& n, const UpdateRates& r,
                              double weight_decay, double2 norms) {
    return lars_trust(trust_rule(n), {.values = norms.x,
                                      .gradient = norms.y * r.grad_scale,
                                      .weight_decay = weight_decay,
                                      .eps = n.eps,
                                      .lr = r.lr});
  }
};

struct LambTrust {
  __device__ static double of(const UpdateNumbers& n, const UpdateRates&,
                              double, double2 norms) {
    return lamb_trust(trust_rule(n), norms.x, norms.y);
  }
};

// A block a chunk.
template <class Op>
__global__ void __launch_bounds__(kUpdateThreads)
    sum_chunks(UpdatePointers p, UpdateNumbers n, double2* partial) {
  const UpdateChunk chunk = p.chunks[blockIdx.x];
  // Nobody asks for these norms, and there are no moments to move.
  if (!Op::kWritesState && !(chunk.flags & kAdapt)) return;
  Op op;
  take_chunk(p, chunk, rule_of(n, chunk), op);
  const double2 sum = block_sum(op.sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// A block a run.
template <class Trust>
__global__ void __launch_bounds__(kUpdateThreads)
    trust_of_runs(UpdateNumbers n, TrustPointers to) {
  const UpdateChunks run = to.runs[blockIdx.x];
  if (!(run.flags & kAdapt)) {
    if (threadIdx.x == 0) to.trust[blockIdx.x] = 1;
    return;
  }
  double2 sum{};
  for (int i = static_cast<int>(threadIdx.x); i < run.count;
       i += kUpdateThreads)
    sum = add(sum, to.partial[run.begin + i]);
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  const double weight_decay = run.flags & kDecay ? n.weight_decay : 0.f;
  to.trust[blockIdx.x] = Trust::of(n, n.rates ? *n.rates : n.now, weight_decay,
                                   {sqrt(sum.x), sqrt(sum.y)});
}

template <class Op, class Trust>
void launch_trust(const UpdatePointers& p, const UpdateNumbers& n,
                  const TrustPointers& to, cudaStream_t stream) {
  const auto blocks = [](std::int64_t count) {
    return static_cast<unsigned>(count);
  };
  sum_chunks<Op>
      <<<blocks(p.num_chunks), kUpdateThreads, 0, stream>>>(p, n, to.partial);
  trust_of_runs<Trust>
      <<<blocks(to.num_runs), kUpdateThreads, 0, stream>>>(n, to);
}

}  // namespace

void launch_lars_trust(UpdatePointers p, const UpdateNumbers& n,
                       const TrustPointers& to, cudaStream_t stream) {
  p.first = p.second = nullptr;
  launch_trust<LarsSquares, LarsTrust>(p, n, to, stream);
}

void launch_lamb_trust(const UpdatePointers& p, const UpdateNumbers& n,
                       const TrustPointers& to, cudaStream_t stream) {
  launch_trust<LambMoments, LambTrust>(p, n, to, stream);
}

}  // namespace lockstep
