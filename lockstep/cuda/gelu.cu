// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/gelu.h"

#include "lockstep/cuda/columns.cuh"
#include "lockstep/cuda/cuda_check.h"
#include "lockstep/cuda/gelu.cuh"

namespace lockstep {
namespace {

struct Bias {
  float v[8];
};

__device__ Bias load_bias(const float* bias, const ColumnPlace& at) {
  Bias b = {};
  if (bias && at.active)
#pragma unroll
    for (int i = 0; i < 8; ++i) b.v[i] = bias[at.column + i];
  return b;
}

template <GeluKind kKind>
__global__ void __launch_bounds__(kColumnThreads)
    forward_kernel(ColumnSizes s, const bf16* x, const float* bias,
                   bf16* output) {
  const ColumnPlace at = column_place(s);
  if (!at.active) return;
  const Bias b = load_bias(bias, at);
#pragma unroll 4
  for (std::int64_t row = at.row; row < s.rows; row += at.step) {
    const Eight in = load_eight(x, s, row, at.column);
    Eight out;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      out.v[i] =
          __float2bfloat16(gelu<kKind>(__bfloat162float(in.v[i]) + b.v[i]));
    store_eight(output, s, row, at.column, out);
  }
}

template <GeluKind kKind>
__global__ void __launch_bounds__(kColumnThreads)
    backward_kernel(ColumnSizes s, const bf16* grad, const bf16* x,
                    const float* bias, bf16* x_grad, float* room) {
  const ColumnPlace at = column_place(s);
  const Bias b = load_bias(bias, at);
  float sums[8] = {};
  if (at.active)
#pragma unroll 2
    for (std::int64_t row = at.row; row < s.rows; row += at.step) {
      const Eight g = load_eight(grad, s, row, at.column);
      const Eight in = load_eight(x, s, row, at.column);
      Eight out;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float v = __bfloat162float(in.v[i]) + b.v[i];
        const float d = __bfloat162float(g.v[i]) * gelu_slope<kKind>(v);
        out.v[i] = __float2bfloat16(d);
        sums[i] += d;
      }
      store_eight(x_grad, s, row, at.column, out);
    }
  if (room) store_partial(s, sums, room);
}

dim3 grid_of(const ColumnSizes& s) {
  return {static_cast<unsigned>((s.columns + 255) / 256),
          static_cast<unsigned>(column_parts(s))};
}

}  // namespace

void launch_gelu(const ColumnSizes& s, GeluKind kind, const __nv_bfloat16* x,
                 const float* bias, __nv_bfloat16* output,
                 cudaStream_t stream) {
  if (kind == GeluKind::tanh)
    forward_kernel<GeluKind::tanh>
        <<<grid_of(s), kColumnThreads, 0, stream>>>(s, x, bias, output);
  else
    forward_kernel<GeluKind::erf>
        <<<grid_of(s), kColumnThreads, 0, stream>>>(s, x, bias, output);
  cuda_check(cudaGetLastError(), "gelu");
}

void launch_gelu_backward(const ColumnSizes& s, GeluKind kind,
                          const __nv_bfloat16* grad, const __nv_bfloat16* x,
                          const float* bias, __nv_bfloat16* x_grad, float* room,
                          float* bias_grad, cudaStream_t stream) {
  float* partial = bias_grad ? room : nullptr;
  if (kind == GeluKind::tanh)
    backward_kernel<GeluKind::tanh><<<grid_of(s), kColumnThreads, 0, stream>>>(
        s, grad, x, bias, x_grad, partial);
  else
    backward_kernel<GeluKind::erf><<<grid_of(s), kColumnThreads, 0, stream>>>(
        s, grad, x, bias, x_grad, partial);
  cuda_check(cudaGetLastError(), "gelu's gradient");
  if (bias_grad)
    launch_fold(room, column_parts(s), s.columns, {1, {bias_grad}}, stream);
}

}  // namespace lockstep
