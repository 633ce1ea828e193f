// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/loss_kernel.h"

namespace lockstep {
namespace {

constexpr int kThreads = 1024;

// The lanes that share a row: one, or a warp. Results are in all of them.
template <int kLanes>
__device__ float total(float v) {
#pragma unroll
  for (int reach = kLanes / 2; reach > 0; reach /= 2)
    v += __shfl_xor_sync(~0u, v, reach);
  return v;
}

struct Highest {
  float value;
  int index;
};
template <int kLanes>
__device__ Highest highest(Highest h) {
#pragma unroll
  for (int reach = kLanes / 2; reach > 0; reach /= 2) {
    const float value = __shfl_xor_sync(~0u, h.value, reach);
    const int index = __shfl_xor_sync(~0u, h.index, reach);
    if (value > h.value || (value == h.value && index < h.index))
      h = {value, index};
  }
  return h;
}

// What a row says of its target: the highest is it, is not, or it is no class.
enum Verdict { kWrong = 0, kRight = 1, kNone = -1 };

// One row's loss; its gradient is written.
template <int kLanes>
__device__ float row_loss(const LossArgs& a, int row, int lane,
                          Verdict* verdict) {
  const float* x = a.logits + static_cast<std::int64_t>(row) * a.classes;
  float* grad = a.grad + static_cast<std::int64_t>(row) * a.classes;
  const auto target = static_cast<int>(a.targets[row]);
  Highest top{-INFINITY, a.classes};
  float all = 0.f;
  for (int c = lane; c < a.classes; c += kLanes) {
    if (x[c] > top.value) top = {x[c], c};
    all += x[c];
  }
  top = highest<kLanes>(top);
  float sum = 0.f;
  for (int c = lane; c < a.classes; c += kLanes) sum += expf(x[c] - top.value);
  sum = total<kLanes>(sum), all = total<kLanes>(all);
  const auto classes = static_cast<float>(a.classes);
  const float even = a.smoothing / classes, rest = 1.f - a.smoothing;
  for (int c = lane; c < a.classes; c += kLanes) {
    const float wanted = even + (c == target ? rest : 0.f);
    grad[c] = (expf(x[c] - top.value) / sum - wanted) * a.scale;
  }
  if (a.targets[row] < 0 || a.targets[row] >= a.classes) {
    *verdict = kNone;
    return NAN;
  }
  *verdict = top.index == target ? kRight : kWrong;
  const float log_sum = logf(sum) + top.value;
  return rest * (log_sum - x[target]) + a.smoothing * (log_sum - all / classes);
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads) loss_kernel(LossArgs a) {
  __shared__ float losses[kThreads];
  __shared__ int rights[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const int lane = t % kLanes;
  float loss = 0.f;
  int right = 0, none = 0;
  for (int row = t / kLanes; row < a.rows; row += kThreads / kLanes) {
    Verdict verdict = kWrong;
    const float l = row_loss<kLanes>(a, row, lane, &verdict);
    if (lane == 0) loss += l, right += verdict == kRight;
    none |= verdict == kNone;
  }
  losses[t] = loss, rights[t] = right;
  none = __syncthreads_or(none);
  for (int reach = kThreads / 2; reach > 0; reach /= 2) {
    __syncthreads();
    if (t < reach)
      losses[t] += losses[t + reach], rights[t] += rights[t + reach];
  }
  if (t == 0)
    *a.loss_sum = losses[0], *a.correct = none ? a.no_such_class : rights[0];
}

}  // namespace

void launch_loss(const LossArgs& args, cudaStream_t stream) {
  if (args.classes <= 32)
    loss_kernel<1><<<1, kThreads, 0, stream>>>(args);
  else
    loss_kernel<32><<<1, kThreads, 0, stream>>>(args);
  cuda_check(cudaGetLastError(), "loss");
}

}  // namespace lockstep
