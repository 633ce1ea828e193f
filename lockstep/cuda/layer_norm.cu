// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/layer_norm.h"

#include <algorithm>
#include <type_traits>

#include "lockstep/cuda/columns.h"
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {
namespace {

// A warp a row: lane l has the eights l, l + 32, ... of it in registers.
constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kMaxBlocks = 396;  // backward: three on each multiprocessor
constexpr int kMaxWidth = 1024;

__device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
__device__ int column_of(int chunk) { return (chunk * 32 + lane()) * 8; }

__device__ float warp_sum(float v) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2)
    v += __shfl_xor_sync(~0u, v, reach);
  return v;
}

__device__ void load8(float (&to)[8], const float* from) {
  const auto* p = reinterpret_cast<const float4*>(from);
  const float4 a = p[0], b = p[1];
  to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
  to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}
__device__ void load8(float (&to)[8], const bf16* from) {
  const Eight e = *reinterpret_cast<const Eight*>(from);
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __bfloat162float(e.v[i]);
}
__device__ void store8(float* to, const float (&from)[8]) {
  auto* p = reinterpret_cast<float4*>(to);
  p[0] = make_float4(from[0], from[1], from[2], from[3]);
  p[1] = make_float4(from[4], from[5], from[6], from[7]);
}
__device__ void store8(bf16* to, const float (&from)[8]) {
  Eight e;
#pragma unroll
  for (int i = 0; i < 8; ++i) e.v[i] = __float2bfloat16(from[i]);
  *reinterpret_cast<Eight*>(to) = e;
}
__device__ void add8(float (&to)[8], const float (&more)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] += more[i];
}

// Eight of x + branch + its bias, written where the stream goes on.
__device__ void load_sum(float (&v)[8], const LayerNormForwardArgs& a,
                         std::int64_t begin, int c) {
  load8(v, a.x + begin + c);
  if (!a.branch) return;
  float more[8];
  load8(more, a.branch + begin + c);
  add8(v, more);
  if (a.branch_bias) {
    load8(more, a.branch_bias + c);
    add8(v, more);
  }
  store8(a.sum + begin + c, v);
}

template <int kChunks>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(LayerNormSizes s, LayerNormForwardArgs a) {
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= s.rows) return;
  const std::int64_t begin = row * s.width;
  float v[kChunks][8] = {};
  float sum = 0.f, square = 0.f;
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    if (column_of(k) < s.width) load_sum(v[k], a, begin, column_of(k));
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += v[k][i];
  }
  const float mean = warp_sum(sum) / static_cast<float>(s.width);
#pragma unroll
  for (int k = 0; k < kChunks; ++k)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float d = v[k][i] - mean;
      if (column_of(k) < s.width) square += d * d;
    }
  const float variance = warp_sum(square) / static_cast<float>(s.width);
  const float inverse = rsqrtf(variance + a.eps);
  if (lane() == 0) a.statistics[row] = make_float2(mean, inverse);
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    const int c = column_of(k);
    if (c >= s.width) continue;
    float w[8], y[8];
    load8(w, a.weight + c);
    load8(y, a.bias + c);
#pragma unroll
    for (int i = 0; i < 8; ++i) y[i] += (v[k][i] - mean) * inverse * w[i];
    store8(a.output + begin + c, y);
  }
}

// What a lane adds up over its rows: gradients of weight, bias, branch bias.
template <int kChunks>
struct Sums {
  float of[3][kChunks][8];
};

// One row of backward.
template <int kChunks>
__device__ void backward_row(const LayerNormSizes& s,
                             const LayerNormBackwardArgs& a, std::int64_t row,
                             Sums<kChunks>& sums) {
  const std::int64_t begin = row * s.width;
  const float2 known = a.statistics[row];
  float normal[kChunks][8] = {}, d[kChunks][8] = {};
  float mean = 0.f, product = 0.f;
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    const int c = column_of(k);
    if (c >= s.width) continue;
    float w[8];
    load8(normal[k], a.sum + begin + c);
    load8(d[k], a.grad + begin + c);
    load8(w, a.weight + c);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      normal[k][i] = (normal[k][i] - known.x) * known.y;
      sums.of[0][k][i] += d[k][i] * normal[k][i];
      sums.of[1][k][i] += d[k][i];
      d[k][i] *= w[i];
      mean += d[k][i], product += d[k][i] * normal[k][i];
    }
  }
  mean = warp_sum(mean) / static_cast<float>(s.width);
  product = warp_sum(product) / static_cast<float>(s.width);
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    const int c = column_of(k);
    if (c >= s.width) continue;
    float dx[8] = {};
    if (a.sum_grad) load8(dx, a.sum_grad + begin + c);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      dx[i] += known.y * (d[k][i] - mean - normal[k][i] * product);
    add8(sums.of[2][k], dx);
    store8(a.x_grad + begin + c, dx);
    if (a.branch_grad) store8(a.branch_grad + begin + c, dx);
  }
}

// A block's sums to room[block][3][width].
template <int kChunks>
__device__ void store_sums(const LayerNormSizes& s, const Sums<kChunks>& sums,
                           float* room) {
  __shared__ float all[kWarps][kChunks * 256];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  float* to = room + static_cast<std::int64_t>(blockIdx.x) * 3 * s.width;
#pragma unroll
  for (int which = 0; which < 3; ++which) {
#pragma unroll
    for (int k = 0; k < kChunks; ++k)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        all[warp][column_of(k) + i] = sums.of[which][k][i];
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < s.width; c += kThreads) {
      float sum = 0.f;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += all[w][c];
      to[which * s.width + c] = sum;
    }
    __syncthreads();
  }
}

template <int kChunks>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(LayerNormSizes s, LayerNormBackwardArgs a) {
  Sums<kChunks> sums = {};
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row =
           static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < s.rows; row += warps)
    backward_row<kChunks>(s, a, row, sums);
  store_sums<kChunks>(s, sums, a.room);
}

int backward_blocks(const LayerNormSizes& s) {
  return static_cast<int>(
      std::clamp<std::int64_t>((s.rows + kWarps - 1) / kWarps, 1, kMaxBlocks));
}

// Kernels know when they are compiled how many times eight numbers a thread
// holds.
template <class Launch>
void with_eights(const LayerNormSizes& s, const Launch& launch) {
  switch ((s.width + 255) / 256) {
    case 1:
      return launch(std::integral_constant<int, 1>());
    case 2:
      return launch(std::integral_constant<int, 2>());
    case 3:
      return launch(std::integral_constant<int, 3>());
    default:
      return launch(std::integral_constant<int, 4>());
  }
}

}  // namespace

bool has_layer_norm_kernel(const LayerNormSizes& s) {
  return s.rows > 0 && s.rows < std::int64_t{1} << 31 && s.width >= 8 &&
         s.width % 8 == 0 && s.width <= kMaxWidth;
}

void launch_layer_norm(const LayerNormSizes& s, const LayerNormForwardArgs& a,
                       cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((s.rows + kWarps - 1) / kWarps);
  with_eights(s, [&](auto eights) {
    forward_kernel<decltype(eights)::value>
        <<<blocks, kThreads, 0, stream>>>(s, a);
  });
  cuda_check(cudaGetLastError(), "layer normalisation");
}

std::int64_t layer_norm_room_floats(const LayerNormSizes& s) {
  return std::int64_t{3} * backward_blocks(s) * s.width;
}

void launch_layer_norm_backward(const LayerNormSizes& s,
                                const LayerNormBackwardArgs& a,
                                cudaStream_t stream) {
  const int parts = backward_blocks(s);
  const auto blocks = static_cast<unsigned>(parts);
  with_eights(s, [&](auto eights) {
    backward_kernel<decltype(eights)::value>
        <<<blocks, kThreads, 0, stream>>>(s, a);
  });
  cuda_check(cudaGetLastError(), "layer normalisation's gradient");
  launch_fold(a.room, parts, s.width,
              {3, {a.weight_grad, a.bias_grad, a.branch_bias_grad}}, stream);
}

}  // namespace lockstep
