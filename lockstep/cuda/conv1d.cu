// SPDX-License-Identifier: Apache-2.0
// Which kernel for which sizes, packed weights, and the sums over blocks.
#include "lockstep/cuda/conv1d.h"

#include "lockstep/cuda/conv1d_rows.h"
#include "lockstep/cuda/conv1d_tile.cuh"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {
namespace {

constexpr int kThreads = 256;
constexpr int kBiasBlocks = 264;

unsigned blocks_for(std::int64_t work) {
  return static_cast<unsigned>((work + kThreads - 1) / kThreads);
}

struct PackArgs {
  const float* weight;
  std::uint32_t* packed;
  int in, out, taps, channels, columns;
  bool flipped;
  std::int64_t words;
};

// One element of the right operand: `k` runs over taps and channels (packed
// side by side), `column` over what comes out.
__device__ float element(const PackArgs& a, int k, int column) {
  const int tap = k / a.channels, channel = k % a.channels;
  const int n = a.flipped ? channel : column;
  const int c = a.flipped ? column : channel;
  if (tap >= a.taps || n >= a.out || c >= a.in) return 0.f;
  const int t = a.flipped ? a.taps - 1 - tap : tap;
  return a.weight[(n * a.in + c) * a.taps + t];
}

// A word holds two neighbours along `k`; see load_right() for the order.
__global__ void pack_kernel(PackArgs a) {
  const std::int64_t word =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (word >= a.words) return;
  const int step = static_cast<int>(word / (a.columns * 64));
  int rest = static_cast<int>(word % (a.columns * 64));
  int lane, tile, half;
  if (rest < a.columns / 2 * 128) {
    lane = rest % 128 / 4;
    tile = rest / 128 * 2 + rest % 4 / 2;
    half = rest % 2;
  } else {
    rest -= a.columns / 2 * 128;
    lane = rest / 2, tile = a.columns - 1, half = rest % 2;
  }
  const int k = step * 16 + half * 8 + lane % 4 * 2;
  const int column = tile * 8 + lane / 4;
  const __nv_bfloat162 pair =
      __floats2bfloat162_rn(element(a, k, column), element(a, k + 1, column));
  a.packed[word] = *reinterpret_cast<const std::uint32_t*>(&pair);
}

// weight[n][c][t] = sum over parts of sums[part][t * in8 + c][n]
__global__ void gather_kernel(const float* sums, Parts parts, int in, int in8,
                              int out, int out8, int taps, float* weight) {
  const int i =
      static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int n = i % out8, row = i / out8;
  const int tap = row / in8, c = row % in8;
  if (tap >= taps || c >= in || n >= out) return;
  float sum = 0.f;
  const std::int64_t stride = static_cast<std::int64_t>(parts.rows) * out8;
  for (int part = 0; part < parts.parts; ++part) sum += sums[part * stride + i];
  weight[(n * in + c) * taps + tap] = sum;
}

// Sums of what reaches each output channel, one row of out8 a block.
__global__ void bias_kernel(const bf16* grad, const std::uint8_t* where,
                            std::int64_t rows, int eights, float* sums) {
  __shared__ float all[kThreads][9];
  const int t = static_cast<int>(threadIdx.x);
  const int lanes = kThreads / eights;
  float mine[8] = {};
  if (t < lanes * eights)
    for (std::int64_t row =
             static_cast<std::int64_t>(blockIdx.x) * lanes + t / eights;
         row < rows; row += static_cast<std::int64_t>(gridDim.x) * lanes) {
      const std::int64_t at = (row * eights + t % eights) * 8;
      const Eight g = *reinterpret_cast<const Eight*>(grad + at);
      const uint2 w = *reinterpret_cast<const uint2*>(where + at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const unsigned word = i < 4 ? w.x : w.y;
        if (((word >> (8 * (i % 4))) & 255u) != kCutOff)
          mine[i] += __bfloat162float(g.v[i]);
      }
    }
#pragma unroll
  for (int i = 0; i < 8; ++i) all[t][i] = mine[i];
  __syncthreads();
  if (t >= eights * 8) return;
  float sum = 0.f;
  for (int lane = 0; lane < lanes; ++lane)
    sum += all[lane * eights + t / 8][t % 8];
  sums[blockIdx.x * static_cast<unsigned>(eights) * 8 +
       static_cast<unsigned>(t)] = sum;
}

__global__ void bias_gather_kernel(const float* sums, int out, int out8,
                                   float* bias) {
  const int n = static_cast<int>(threadIdx.x);
  if (n >= out) return;
  float sum = 0.f;
  for (int block = 0; block < kBiasBlocks; ++block)
    sum += sums[block * out8 + n];
  bias[n] = sum;
}

int steps_of(const Conv1dSizes& s, bool flipped) {
  if (s.in == 1) return (s.taps + 15) / 16;
  const int channels = flipped ? s.out8() : s.in8();
  return stages_of(s.taps * channels) * kStageSteps;
}

Parts parts_of(const Conv1dSizes& s) {
  return s.in == 1 ? wave_parts(s) : rows_parts(s);
}

std::int64_t part_floats(const Conv1dSizes& s) {
  const Parts p = parts_of(s);
  return static_cast<std::int64_t>(p.parts) * p.rows * s.out8();
}

}  // namespace

bool has_tensor_core_kernel(const Conv1dSizes& s) {
  if (s.windows < 1 || s.taps <= s.padding || s.batch > 65535) return false;
  if (s.in == 1) return s.pool == 4 && s.out8() == 56 && s.taps <= 208;
  if (s.taps > 250) return false;  // rows must fit in shared memory
  return (s.in8() == 56 && s.out8() == 32 && s.pool == 3) ||
         (s.in8() == 32 && s.out8() == 16 && s.pool == 5);
}

std::int64_t packed_bytes(const Conv1dSizes& s, bool flipped) {
  const int columns = (flipped ? s.in8() : s.out8()) / 8;
  return static_cast<std::int64_t>(steps_of(s, flipped)) * columns * 256;
}

void pack_weights(const Conv1dSizes& s, const float* weight, bool flipped,
                  void* packed, cudaStream_t stream) {
  const PackArgs a{.weight = weight,
                   .packed = static_cast<std::uint32_t*>(packed),
                   .in = s.in,
                   .out = s.out,
                   .taps = s.taps,
                   .channels = s.in == 1 ? 1
                               : flipped ? s.out8()
                                         : s.in8(),
                   .columns = (flipped ? s.in8() : s.out8()) / 8,
                   .flipped = flipped,
                   .words = packed_bytes(s, flipped) / 4};
  pack_kernel<<<blocks_for(a.words), kThreads, 0, stream>>>(a);
  cuda_check(cudaGetLastError(), "pack weights");
}

void conv1d_forward(const Conv1dSizes& s, const void* input, const void* packed,
                    const float* bias, bf16* output, std::uint8_t* where,
                    cudaStream_t stream) {
  if (s.in == 1)
    wave_forward(s, static_cast<const float*>(input), packed, bias, output,
                 where, stream);
  else
    rows_forward(s, static_cast<const bf16*>(input), packed, bias, output,
                 where, stream);
}

void conv1d_data_gradient(const Conv1dSizes& s, const bf16* grad,
                          const std::uint8_t* where, const void* packed,
                          bf16* to, cudaStream_t stream) {
  rows_data_gradient(s, grad, where, packed, to, stream);
}

std::int64_t room_floats(const Conv1dSizes& s) {
  return part_floats(s) + kBiasBlocks * s.out8();
}

void conv1d_weight_gradient(const Conv1dSizes& s, const void* input,
                            const bf16* grad, const std::uint8_t* where,
                            float* weight, float* bias, float* room,
                            cudaStream_t stream) {
  if (s.in == 1)
    wave_weight_gradient(s, static_cast<const float*>(input), grad, where, room,
                         stream);
  else
    rows_weight_gradient(s, static_cast<const bf16*>(input), grad, where, room,
                         stream);
  const int in8 = s.in == 1 ? 1 : s.in8();
  gather_kernel<<<blocks_for(std::int64_t{s.taps} * in8 * s.out8()), kThreads,
                  0, stream>>>(room, parts_of(s), s.in, in8, s.out, s.out8(),
                               s.taps, weight);
  float* sums = room + part_floats(s);
  bias_kernel<<<kBiasBlocks, kThreads, 0, stream>>>(
      grad, where, std::int64_t{s.batch} * s.windows, s.out8() / 8, sums);
  bias_gather_kernel<<<1, 64, 0, stream>>>(sums, s.out, s.out8(), bias);
  cuda_check(cudaGetLastError(), "conv1d gradient sums");
}

}  // namespace lockstep
