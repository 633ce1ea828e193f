// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/norm.h"

#include <algorithm>

#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/gelu.cuh"
#include "lockstep/cuda/mma.cuh"

namespace lockstep {
namespace {

constexpr int kThreads = 256;
// On each multiprocessor four blocks, or two where each leaves sums behind:
// somebody has to add those up.
constexpr int kMaxBlocks = 528, kMaxSums = 264;

// A block's threads side by side over rows: each keeps its eight channels.
struct Layout {
  int eights, lanes;
  __host__ __device__ explicit Layout(int channels)
      : eights(channels / 8), lanes(kThreads / eights) {}
};

int blocks_for(const NormSizes& s, int most) {
  const Layout layout(s.channels);
  return static_cast<int>(
      std::clamp<std::int64_t>(s.rows / (layout.lanes * 8), 1, most));
}

struct Place {
  int channel;       // the first of eight
  std::int64_t row;  // the first of this thread's
  std::int64_t step;
  bool active;
};

__device__ Place place_of(const NormSizes& s) {
  const Layout layout(s.channels);
  const int t = static_cast<int>(threadIdx.x);
  const int lane = t / layout.eights;
  return {t % layout.eights * 8,
          static_cast<std::int64_t>(blockIdx.x) * layout.lanes + lane,
          static_cast<std::int64_t>(gridDim.x) * layout.lanes,
          lane < layout.lanes};
}

__device__ void load8(float (&to)[8], const float* from) {
  const auto* p = reinterpret_cast<const float4*>(from);
  const float4 a = p[0], b = p[1];
  to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w;
  to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}

__device__ Eight load_row(const bf16* from, const NormSizes& s,
                          std::int64_t row, int channel) {
  return *reinterpret_cast<const Eight*>(from + row * s.channels + channel);
}

__device__ void store_row(bf16* to, const NormSizes& s, std::int64_t row,
                          int channel, const Eight& e) {
  *reinterpret_cast<Eight*>(to + row * s.channels + channel) = e;
}

__device__ float f(bf16 x) { return __bfloat162float(x); }

// Two sums a channel over the block's rows, to room[block][2][channels].
__device__ void store_sums(const NormSizes& s, const float (&first)[8],
                           const float (&second)[8], float* room) {
  __shared__ float all[kThreads][17];
  const Layout layout(s.channels);
  const int t = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 8; ++i) all[t][i] = first[i], all[t][8 + i] = second[i];
  __syncthreads();
  float* to = room + static_cast<std::int64_t>(blockIdx.x) * 2 * s.channels;
  for (int i = t; i < 2 * s.channels; i += kThreads) {
    const int which = i / s.channels, c = i % s.channels;
    float sum = 0.f;
    for (int lane = 0; lane < layout.lanes; ++lane)
      sum += all[lane * layout.eights + c / 8][which * 8 + c % 8];
    to[i] = sum;
  }
}

// Sums of input less its first row, and their squares: what is subtracted
// keeps the variance of numbers far from zero exact.
__global__ void __launch_bounds__(kThreads)
    moments_kernel(NormSizes s, const bf16* input, float* room) {
  const Place at = place_of(s);
  float sum[8] = {}, square[8] = {};
  if (at.active) {
    const Eight origin = load_row(input, s, 0, at.channel);
#pragma unroll 8
    for (std::int64_t row = at.row; row < s.rows; row += at.step) {
      const Eight x = load_row(input, s, row, at.channel);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float d = f(x.v[i]) - f(origin.v[i]);
        sum[i] += d, square[i] += d * d;
      }
    }
  }
  store_sums(s, sum, square, room);
}

constexpr int kGroups = 32;  // of threads, each over some of the blocks

// Sums over all blocks of 32 neighbouring channels, in the threads of the first
// group: thread t has channel t of the block's.
__device__ float2 total_of(const float* room, int blocks, int channels,
                           int channel) {
  __shared__ float2 all[kGroups][33];
  const int group = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float a = 0.f, b = 0.f;
  if (channel < channels)
#pragma unroll 8
    for (int block = group; block < blocks; block += kGroups) {
      const float* from =
          room + static_cast<std::int64_t>(block) * 2 * channels;
      a += from[channel], b += from[channels + channel];
    }
  all[group][lane] = {a, b};
  __syncthreads();
  if (group != 0) return {};
  float2 sum = {};
#pragma unroll 8
  for (int g = 0; g < kGroups; ++g)
    sum.x += all[g][lane].x, sum.y += all[g][lane].y;
  return sum;
}

__device__ int lane_channel() {
  return static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
}

__global__ void __launch_bounds__(32 * kGroups)
    statistics_kernel(NormSizes s, NormParams p, const bf16* input,
                      const float* room, int blocks, NormSaved saved) {
  const int c = lane_channel();
  const float2 sums = total_of(room, blocks, s.channels, c);
  if (threadIdx.x >= 32 || c >= s.channels) return;
  if (c == 0 && p.batches) ++*p.batches;
  const auto rows = static_cast<float>(s.rows);
  const float offset = sums.x / rows, mean = f(input[c]) + offset;
  const float variance = fmaxf(sums.y / rows - offset * offset, 0.f);
  const float inverse = rsqrtf(variance + p.eps);
  const float scale = p.weight ? p.weight[c] * inverse : inverse;
  saved.mean()[c] = mean, saved.inverse_std()[c] = inverse;
  saved.scale()[c] = scale;
  saved.shift()[c] = p.bias_scale * p.bias[c] - mean * scale;
  const float unbiased = variance * rows / fmaxf(rows - 1.f, 1.f);
  float& m = p.running_mean[c];
  float& v = p.running_var[c];
  m += p.momentum * (mean - m), v += p.momentum * (unbiased - v);
}

// What follows the normalisation, as far as the compiler must know.
enum class Next { plain, residual, gelu };

template <Next kNext>
__global__ void __launch_bounds__(kThreads)
    apply_kernel(NormSizes s, NormRange range, const bf16* input,
                 const bf16* residual, bf16* output, NormSaved saved) {
  const Place at = place_of(s);
  if (!at.active) return;
  float scale[8], shift[8];
  load8(scale, saved.scale() + at.channel);
  load8(shift, saved.shift() + at.channel);
#pragma unroll 4
  for (std::int64_t row = at.row; row < s.rows; row += at.step) {
    const Eight x = load_row(input, s, row, at.channel);
    Eight r = {}, y;
    if constexpr (kNext == Next::residual)
      r = load_row(residual, s, row, at.channel);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float z = scale[i] * f(x.v[i]) + shift[i];
      if constexpr (kNext == Next::residual) z += f(r.v[i]);
      if constexpr (kNext == Next::gelu) {
        z = gelu<GeluKind::erf>(z);
      } else {
        // Not a number stays what it is.
        if (z < range.floor) z = range.floor;
        if (z > range.cap) z = range.cap;
      }
      y.v[i] = __float2bfloat16(z);
    }
    store_row(output, s, row, at.channel, y);
  }
}

// Whether the activation let a value through.
__device__ bool passes(float z, const NormRange& range) {
  return z > range.floor && z < range.cap;
}

struct BackwardArgs {
  NormSizes s;
  NormRange range;
  const bf16 *grad, *input, *output;
  NormSaved saved;
};

// What forward found out about eight neighbouring channels.
struct Channels {
  float mean[8], inverse[8], scale[8], shift[8];
};

__device__ Channels load_channels(const NormSaved& saved, int channel) {
  Channels c;
  load8(c.mean, saved.mean() + channel);
  load8(c.inverse, saved.inverse_std() + channel);
  load8(c.scale, saved.scale() + channel);
  load8(c.shift, saved.shift() + channel);
  return c;
}

// The gradient before the activation and the normalised input, of eight.
struct Before {
  float grad[8], normal[8];
};

// residual: what the activation let through is read off the output.
template <Next kNext>
__device__ Before before_activation(const BackwardArgs& a, const Channels& c,
                                    std::int64_t row, int channel) {
  const Eight g = load_row(a.grad, a.s, row, channel);
  const Eight x = load_row(a.input, a.s, row, channel);
  Eight y = {};
  if constexpr (kNext == Next::residual)
    y = load_row(a.output, a.s, row, channel);
  Before out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float v = f(x.v[i]);
    const float z =
        kNext == Next::residual ? f(y.v[i]) : c.scale[i] * v + c.shift[i];
    if constexpr (kNext == Next::gelu)
      out.grad[i] = f(g.v[i]) * gelu_slope<GeluKind::erf>(z);
    else
      out.grad[i] = passes(z, a.range) ? f(g.v[i]) : 0.f;
    out.normal[i] = (v - c.mean[i]) * c.inverse[i];
  }
  return out;
}

template <Next kNext>
__global__ void __launch_bounds__(kThreads)
    grad_sums_kernel(BackwardArgs a, float* room) {
  const Place at = place_of(a.s);
  float sum[8] = {}, product[8] = {};
  if (at.active) {
    const Channels c = load_channels(a.saved, at.channel);
#pragma unroll 2
    for (std::int64_t row = at.row; row < a.s.rows; row += at.step) {
      const Before b = before_activation<kNext>(a, c, row, at.channel);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sum[i] += b.grad[i], product[i] += b.grad[i] * b.normal[i];
    }
  }
  store_sums(a.s, sum, product, room);
}

__global__ void __launch_bounds__(32 * kGroups)
    grad_means_kernel(NormSizes s, const float* room, int blocks,
                      NormSaved saved, NormGrads grads) {
  const int c = lane_channel();
  const float2 sums = total_of(room, blocks, s.channels, c);
  if (threadIdx.x >= 32 || c >= s.channels) return;
  grads.bias[c] = grads.bias_scale * sums.x;
  if (grads.weight) grads.weight[c] = sums.y;
  const auto rows = static_cast<float>(s.rows);
  saved.grad()[c] = sums.x / rows, saved.product()[c] = sums.y / rows;
}

template <Next kNext>
__global__ void __launch_bounds__(kThreads)
    input_grad_kernel(BackwardArgs a, bf16* input_grad, bf16* residual_grad) {
  const Place at = place_of(a.s);
  if (!at.active) return;
  const Channels c = load_channels(a.saved, at.channel);
  float grad_mean[8], product[8];
  load8(grad_mean, a.saved.grad() + at.channel);
  load8(product, a.saved.product() + at.channel);
#pragma unroll 2
  for (std::int64_t row = at.row; row < a.s.rows; row += at.step) {
    const Before b = before_activation<kNext>(a, c, row, at.channel);
    Eight dx, dr;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float d =
          c.scale[i] * (b.grad[i] - grad_mean[i] - b.normal[i] * product[i]);
      dx.v[i] = __float2bfloat16(d), dr.v[i] = __float2bfloat16(b.grad[i]);
    }
    store_row(input_grad, a.s, row, at.channel, dx);
    if (residual_grad) store_row(residual_grad, a.s, row, at.channel, dr);
  }
}

unsigned channel_blocks(const NormSizes& s) {
  return static_cast<unsigned>((s.channels + 31) / 32);
}

}  // namespace

bool has_norm_kernel(const NormSizes& s) {
  return s.channels % 8 == 0 && s.channels >= 8 && s.channels <= 2048 &&
         s.rows > 1;
}

std::int64_t norm_room_floats(const NormSizes& s) {
  return std::int64_t{2} * blocks_for(s, kMaxSums) * s.channels;
}

void norm_forward(const NormSizes& s, const NormParams& params,
                  const NormRange& range, const bf16* input,
                  const bf16* residual, bf16* output, const NormSaved& saved,
                  float* room, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(s, kMaxBlocks));
  const int sums = blocks_for(s, kMaxSums);
  moments_kernel<<<static_cast<unsigned>(sums), kThreads, 0, stream>>>(s, input,
                                                                       room);
  statistics_kernel<<<channel_blocks(s), 32 * kGroups, 0, stream>>>(
      s, params, input, room, sums, saved);
  const auto apply = range.gelu ? apply_kernel<Next::gelu>
                     : residual ? apply_kernel<Next::residual>
                                : apply_kernel<Next::plain>;
  apply<<<blocks, kThreads, 0, stream>>>(s, range, input, residual, output,
                                         saved);
  cuda_check(cudaGetLastError(), "normalisation");
}

void norm_backward(const NormSizes& s, const NormRange& range, const bf16* grad,
                   const bf16* input, const bf16* output,
                   const NormSaved& saved, bf16* input_grad,
                   bf16* residual_grad, const NormGrads& grads, float* room,
                   cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(s, kMaxBlocks));
  const int sums = blocks_for(s, kMaxSums);
  const BackwardArgs a{s, range, grad, input, output, saved};
  const auto sum = range.gelu ? grad_sums_kernel<Next::gelu>
                   : output   ? grad_sums_kernel<Next::residual>
                              : grad_sums_kernel<Next::plain>;
  sum<<<static_cast<unsigned>(sums), kThreads, 0, stream>>>(a, room);
  grad_means_kernel<<<channel_blocks(s), 32 * kGroups, 0, stream>>>(
      s, room, sums, saved, grads);
  const auto give = range.gelu ? input_grad_kernel<Next::gelu>
                    : output   ? input_grad_kernel<Next::residual>
                               : input_grad_kernel<Next::plain>;
  give<<<blocks, kThreads, 0, stream>>>(a, input_grad, residual_grad);
  cuda_check(cudaGetLastError(), "normalisation gradient");
}

}  // namespace lockstep
