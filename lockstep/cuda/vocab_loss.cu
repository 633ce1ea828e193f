// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/vocab_loss.h"

#include <algorithm>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {
namespace {

constexpr int kThreads = 512;
// Two rows side by side on a multiprocessor: one is read while the other is
// written.
constexpr int kMaxKeptBytes = 112 * 1024;

__device__ float value(float x) { return x; }
__device__ float value(bf16 x) { return __bfloat162float(x); }
__device__ void put(float& to, float x) { to = x; }
__device__ void put(bf16& to, float x) { to = __float2bfloat16(x); }

template <class T, int kWide>
struct alignas(sizeof(T) * kWide) Pack {
  T v[kWide];
};

struct Highest {
  float value;
  int index;
};

__device__ Highest higher(Highest a, Highest b) {
  const bool second =
      b.value > a.value || (b.value == a.value && b.index < a.index);
  return second ? b : a;
}

// Over all threads of the block, the result in each. `room` is used again only
// after another barrier.
__device__ Highest highest_of(Highest h, Highest* room) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2)
    h = higher(h, {__shfl_xor_sync(~0u, h.value, reach),
                   __shfl_xor_sync(~0u, h.index, reach)});
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = h;
  __syncthreads();
  h = room[0];
  for (int w = 1; w < kThreads / 32; ++w) h = higher(h, room[w]);
  return h;
}

__device__ float2 total_of(float2 s, float2* room) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) {
    s.x += __shfl_xor_sync(~0u, s.x, reach);
    s.y += __shfl_xor_sync(~0u, s.y, reach);
  }
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = s;
  __syncthreads();
  s = room[0];
  for (int w = 1; w < kThreads / 32; ++w) s.x += room[w].x, s.y += room[w].y;
  return s;
}

// A row's highest logit, the sum of its exponentials below it and of all.
struct RowSums {
  Highest top;
  float sum, all;
};

// Reads the row, keeps it where there is room: a thread takes back only what it
// put there itself.
template <class T, int kWide, bool kKeep>
__device__ RowSums sum_row(const Pack<T, kWide>* packs, Pack<T, kWide>* kept,
                           int classes) {
  __shared__ Highest tops[kThreads / 32];
  __shared__ float2 sums[kThreads / 32];
  const int t = static_cast<int>(threadIdx.x);
  const int count = (classes + kWide - 1) / kWide;
  Highest top{-INFINITY, classes};
  float all = 0.f, sum = 0.f;
#pragma unroll 4
  for (int i = t; i < count; i += kThreads) {
    const Pack<T, kWide> p = packs[i];
    if constexpr (kKeep) kept[i] = p;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      const int c = i * kWide + j;
      if (c >= classes) continue;
      const float v = value(p.v[j]);
      if (v > top.value) top = {v, c};
      all += v;
    }
  }
  top = highest_of(top, tops);
  for (int i = t; i < count; i += kThreads) {
    const Pack<T, kWide> p = kKeep ? kept[i] : packs[i];
#pragma unroll
    for (int j = 0; j < kWide; ++j)
      if (i * kWide + j < classes) sum += __expf(value(p.v[j]) - top.value);
  }
  const float2 both = total_of({sum, all}, sums);
  return {top, both.x, both.y};
}

template <class T, int kWide, bool kKeep>
__global__ void __launch_bounds__(kThreads, 2) row_kernel(VocabLossArgs a) {
  using P = Pack<T, kWide>;
  extern __shared__ uint4 memory[];
  const std::int64_t row = blockIdx.x;
  const T* x = static_cast<const T*>(a.logits) + row * a.stride;
  const P* packs = reinterpret_cast<const P*>(x);
  P* kept = reinterpret_cast<P*>(memory);
  const RowSums s = sum_row<T, kWide, kKeep>(packs, kept, a.classes);

  const auto classes = static_cast<float>(a.classes);
  const float even = a.smoothing / classes, rest = 1.f - a.smoothing;
  const auto target = static_cast<int>(a.targets[row]);
  const float over = 1.f / s.sum;
  P* grads =
      reinterpret_cast<P*>(static_cast<T*>(a.grad) + row * a.grad_stride);
  const auto columns = static_cast<int>(a.grad_stride / kWide);
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) {
    P p = {}, g;
    if (i * kWide < a.classes) p = kKeep ? kept[i] : packs[i];
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      const int c = i * kWide + j;
      const float wanted = even + (c == target ? rest : 0.f);
      const float share = __expf(value(p.v[j]) - s.top.value) * over;
      put(g.v[j], c < a.classes ? (share - wanted) * a.scale : 0.f);
    }
    grads[i] = g;
  }
  if (threadIdx.x != 0) return;
  // A target of 64 bits that is no class may be one when it is cut to 32.
  if (a.targets[row] < 0 || a.targets[row] >= a.classes) {
    a.losses[row] = NAN, a.rights[row] = -1;
    return;
  }
  const float log_sum = logf(s.sum) + s.top.value;
  a.losses[row] = rest * (log_sum - value(x[target])) +
                  a.smoothing * (log_sum - s.all / classes);
  a.rights[row] = s.top.index == target;
}

__global__ void __launch_bounds__(1024) sum_kernel(VocabLossArgs a) {
  __shared__ float losses[1024];
  __shared__ int rights[1024];
  const int t = static_cast<int>(threadIdx.x);
  float loss = 0.f;
  int right = 0, none = 0;
#pragma unroll 8
  for (std::int64_t row = t; row < a.rows; row += 1024) {
    loss += a.losses[row], right += a.rights[row];
    none |= a.rights[row] < 0;
  }
  losses[t] = loss, rights[t] = right;
  none = __syncthreads_or(none);
  for (int reach = 512; reach > 0; reach /= 2) {
    __syncthreads();
    if (t < reach)
      losses[t] += losses[t + reach], rights[t] += rights[t + reach];
  }
  if (t == 0)
    *a.loss_sum = losses[0], *a.correct = none ? a.no_such_class : rights[0];
}

template <class T, int kWide, bool kKeep>
void launch_rows(const VocabLossArgs& a, int kept_bytes, cudaStream_t stream) {
  if (kKeep)
    cuda_check(cudaFuncSetAttribute(row_kernel<T, kWide, kKeep>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kept_bytes),
               "loss");
  row_kernel<T, kWide, kKeep>
      <<<static_cast<unsigned>(a.rows), kThreads,
         kKeep ? static_cast<std::size_t>(kept_bytes) : 0, stream>>>(a);
}

int most_kept_bytes() {
  int device = 0, bytes = 0;
  cuda_check(cudaGetDevice(&device), "loss");
  cuda_check(cudaDeviceGetAttribute(
                 &bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "loss");
  return std::min(bytes - 1024, kMaxKeptBytes);
}

template <class T, int kWide>
void launch_of(const VocabLossArgs& a, cudaStream_t stream) {
  if (!a.aligned) return launch_rows<T, 1, false>(a, 0, stream);
  const std::int64_t bytes = (std::int64_t{a.classes} + kWide - 1) / kWide * 16;
  if (bytes <= most_kept_bytes())
    launch_rows<T, kWide, true>(a, static_cast<int>(bytes), stream);
  else
    launch_rows<T, kWide, false>(a, 0, stream);
}

}  // namespace

void launch_vocab_loss(const VocabLossArgs& args, cudaStream_t stream) {
  args.half ? launch_of<bf16, 8>(args, stream)
            : launch_of<float, 4>(args, stream);
  sum_kernel<<<1, 1024, 0, stream>>>(args);
  cuda_check(cudaGetLastError(), "loss");
}

}  // namespace lockstep
