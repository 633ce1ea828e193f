// SPDX-License-Identifier: Apache-2.0
// The inner loops of the 1-D convolution for one instruction set, on one
// thread and on rows that are already padded. Private to kernels/.
#pragma once

#include <cstdint>

namespace lockstep {

// Output channels computed side by side; weights are packed in groups of it.
inline constexpr std::int64_t kConvRows = 5;
// Floats a row must have readable beyond its last used one.
inline constexpr std::int64_t kConvSlack = 128;

inline constexpr std::uint8_t kNowhere = 255;

struct ConvRows {
  const float* in = nullptr;       // [in_channels][in_stride]
  const float* weights = nullptr;  // [in_channels][taps][kConvRows]
  const float* bias = nullptr;     // [rows], or null
  float* out = nullptr;            // [rows][out_stride]
  std::int64_t in_channels = 0, in_stride = 0, taps = 0;
  std::int64_t rows = 0;  // of out, at most kConvRows
  std::int64_t positions = 0, out_stride = 0;
};

struct ConvTaps {
  const float* in = nullptr;    // [batch][…], one channel of each
  const float* grad = nullptr;  // [batch][rows of grad_stride]
  float* out = nullptr;         // [rows][out_stride], its first tap
  std::int64_t batch = 0, in_batch = 0, grad_batch = 0;  // strides
  std::int64_t grad_stride = 0, out_stride = 0;
  std::int64_t rows = 0;       // at most kConvRows
  std::int64_t taps = 0;       // at most kConvRows
  std::int64_t positions = 0;  // gradients beyond are zero up to kConvSlack
};

struct Conv1dTable {
  // out[r][p] = bias[r] + sum over i, k of weights[i][k][r] * in[i][p + k]
  void (*rows)(const ConvRows&);
  // out[r][k] = sum over batch, p of grad[r][p] * in[p + k]
  void (*taps)(const ConvTaps&);
  // Largest value of each window of `pool`, at least 0, and its place in the
  // window, or kNowhere when none is above 0.
  void (*relu_pool)(const float* in, std::int64_t windows, std::int64_t pool,
                    float* out, std::uint8_t* where);
};

extern const Conv1dTable kConv1dPlain;
extern const Conv1dTable kConv1dAvx2;
extern const Conv1dTable kConv1dAvx512;

}  // namespace lockstep
