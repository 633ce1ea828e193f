// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/max_pool.h"

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {
namespace {

constexpr int kThreads = 256;

struct alignas(8) Places {
  std::uint8_t v[8];
};

// A thread has eight channels of one pixel.
struct Pixel {
  std::int64_t image;
  int y, x, channel;
  bool active;
};

__device__ Pixel pixel_of(int batch, int height, int width, int channels) {
  const int eights = channels / 8;
  std::int64_t i =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  Pixel p;
  p.channel = static_cast<int>(i % eights) * 8, i /= eights;
  p.x = static_cast<int>(i % width), i /= width;
  p.y = static_cast<int>(i % height), i /= height;
  p.image = i, p.active = i < batch;
  return p;
}

__device__ std::int64_t at(const Pixel& p, int y, int x, int height, int width,
                           int channels) {
  return ((p.image * height + y) * width + x) * channels + p.channel;
}

template <int kWindow, int kStride, int kPadding>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(PoolSizes s, const bf16* input, bf16* output,
                   std::uint8_t* where) {
  const int rows = s.out_height(), columns = s.out_width();
  const Pixel p = pixel_of(s.batch, rows, columns, s.channels);
  if (!p.active) return;
  float best[8];
  Places place = {};
  bool first = true;
#pragma unroll
  for (int k = 0; k < kWindow * kWindow; ++k) {
    const int y = kStride * p.y - kPadding + k / kWindow;
    const int x = kStride * p.x - kPadding + k % kWindow;
    if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
    const Eight e = *reinterpret_cast<const Eight*>(
        input + at(p, y, x, s.height, s.width, s.channels));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float v = __bfloat162float(e.v[i]);
      // The first of equals, and what is not a number before everything.
      if (!first && !(v > best[i]) && v == v) continue;
      best[i] = v, place.v[i] = static_cast<std::uint8_t>(k);
    }
    first = false;
  }
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) out.v[i] = __float2bfloat16(best[i]);
  const std::int64_t to = at(p, p.y, p.x, rows, columns, s.channels);
  *reinterpret_cast<Eight*>(output + to) = out;
  *reinterpret_cast<Places*>(where + to) = place;
}

// The windows that reach a row, and those that reach a column: two at most.
template <int kWindow, int kStride, int kPadding>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(PoolSizes s, const bf16* grad, const std::uint8_t* where,
                    bf16* x_grad) {
  const int rows = s.out_height(), columns = s.out_width();
  const Pixel p = pixel_of(s.batch, s.height, s.width, s.channels);
  if (!p.active) return;
  constexpr int kBefore = kPadding - kWindow + kStride;
  static_assert(kBefore >= 0, "the first window begins at or before a pixel");
  float sums[8] = {};
  for (int y = (p.y + kBefore) / kStride;
       y <= (p.y + kPadding) / kStride && y < rows; ++y)
    for (int x = (p.x + kBefore) / kStride;
         x <= (p.x + kPadding) / kStride && x < columns; ++x) {
      const int k = (p.y - kStride * y + kPadding) * kWindow + p.x -
                    kStride * x + kPadding;
      const std::int64_t from = at(p, y, x, rows, columns, s.channels);
      const Eight g = *reinterpret_cast<const Eight*>(grad + from);
      const Places place = *reinterpret_cast<const Places*>(where + from);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (place.v[i] == k) sums[i] += __bfloat162float(g.v[i]);
    }
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) out.v[i] = __float2bfloat16(sums[i]);
  *reinterpret_cast<Eight*>(
      x_grad + at(p, p.y, p.x, s.height, s.width, s.channels)) = out;
}

unsigned blocks_for(const PoolSizes& s, int height, int width) {
  const std::int64_t threads =
      std::int64_t{s.batch} * height * width * (s.channels / 8);
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

void launch_max_pool(const PoolSizes& s, const __nv_bfloat16* x,
                     __nv_bfloat16* output, std::uint8_t* where,
                     cudaStream_t stream) {
  const unsigned blocks = blocks_for(s, s.out_height(), s.out_width());
  const auto kernel = s.window == 2   ? forward_kernel<2, 2, 0>
                      : s.stride == 2 ? forward_kernel<3, 2, 1>
                                      : forward_kernel<3, 3, 0>;
  kernel<<<blocks, kThreads, 0, stream>>>(s, x, output, where);
  cuda_check(cudaGetLastError(), "max pooling");
}

void launch_max_pool_backward(const PoolSizes& s, const __nv_bfloat16* grad,
                              const std::uint8_t* where, __nv_bfloat16* x_grad,
                              cudaStream_t stream) {
  const unsigned blocks = blocks_for(s, s.height, s.width);
  const auto kernel = s.window == 2   ? backward_kernel<2, 2, 0>
                      : s.stride == 2 ? backward_kernel<3, 2, 1>
                                      : backward_kernel<3, 3, 0>;
  kernel<<<blocks, kThreads, 0, stream>>>(s, grad, where, x_grad);
  cuda_check(cudaGetLastError(), "max pooling's gradient");
}

}  // namespace lockstep
