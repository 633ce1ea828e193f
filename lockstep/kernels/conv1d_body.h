// SPDX-License-Identifier: Apache-2.0
// The loops of conv1d_table.h, written once and compiled for each instruction
// set by the three files that include this one. A block of sums stays in
// registers; each loaded vector is used for every row of it. No standard
// templates in here (see update_body.h).
#pragma once

#include "lockstep/kernels/conv1d_table.h"
#include "lockstep/kernels/vector_body.h"

namespace lockstep {
namespace {

// One block of kRows x (kVecs * kLanes) outputs at position `p`, stored to
// `out` with row stride `out_stride`.
template <class V, int kVecs, int kRows>
void conv_block(const ConvRows& c, std::int64_t p, float* out,
                std::int64_t out_stride) {
  constexpr int kLanes = V::kLanes;
  typename V::Type sums[kRows][kVecs];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVecs; ++v)
      sums[r][v] = typename V::Type{} + (c.bias ? c.bias[r] : 0.0f);
  const float* weights = c.weights;
  for (std::int64_t i = 0; i < c.in_channels; ++i) {
    const float* in = c.in + i * c.in_stride + p;
    for (std::int64_t k = 0; k < c.taps; ++k, ++in, weights += kConvRows) {
      typename V::Type x[kVecs];
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) x[v] = load<V>(in + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v) sums[r][v] += weights[r] * x[v];
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVecs; ++v)
      store<V>(out + r * out_stride + v * kLanes, sums[r][v]);
}

template <class V, int kVecs, int kRows>
void conv_rows_of(const ConvRows& c) {
  constexpr int kWidth = V::kLanes * kVecs;
  std::int64_t p = 0;
  for (; p + kWidth <= c.positions; p += kWidth)
    conv_block<V, kVecs, kRows>(c, p, c.out + p, c.out_stride);
  if (p == c.positions) return;
  float last[kRows * kWidth];  // the block that sticks out beyond the row
  conv_block<V, kVecs, kRows>(c, p, last, kWidth);
  for (int r = 0; r < kRows; ++r)
    for (std::int64_t q = p; q < c.positions; ++q)
      c.out[r * c.out_stride + q] = last[r * kWidth + q - p];
}

template <class V, int kVecs>
void conv_rows(const ConvRows& c) {
  static_assert(V::kLanes * kVecs <= kConvSlack);
  switch (c.rows) {
    case 1:
      return conv_rows_of<V, kVecs, 1>(c);
    case 2:
      return conv_rows_of<V, kVecs, 2>(c);
    case 3:
      return conv_rows_of<V, kVecs, 3>(c);
    case 4:
      return conv_rows_of<V, kVecs, 4>(c);
    default:
      return conv_rows_of<V, kVecs, 5>(c);
  }
}

// kRows x kTaps sums, each a vector over positions that is added up at the end.
template <class V, int kRows, int kTaps>
void taps_block(const ConvTaps& c, std::int64_t row, std::int64_t tap) {
  constexpr int kLanes = V::kLanes;
  typename V::Type sums[kRows][kTaps] = {};
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const float* in = c.in + b * c.in_batch + tap;
    const float* grad = c.grad + b * c.grad_batch + row * c.grad_stride;
    for (std::int64_t p = 0; p < c.positions; p += kLanes) {
      typename V::Type g[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
        g[r] = load<V>(grad + r * c.grad_stride + p);
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        const typename V::Type x = load<V>(in + p + k);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r][k] += g[r] * x;
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < kTaps; ++k)
      c.out[(row + r) * c.out_stride + tap + k] = sum(sums[r][k]);
}

// Blocks of what fits the registers, then single sums for the rest.
template <class V, int kRows, int kTaps>
void conv_taps(const ConvTaps& c) {
  static_assert(V::kLanes <= kConvSlack);
  std::int64_t row = 0;
  for (; row + kRows <= c.rows; row += kRows) {
    std::int64_t tap = 0;
    for (; tap + kTaps <= c.taps; tap += kTaps)
      taps_block<V, kRows, kTaps>(c, row, tap);
    for (; tap < c.taps; ++tap) taps_block<V, kRows, 1>(c, row, tap);
  }
  for (; row < c.rows; ++row)
    for (std::int64_t tap = 0; tap < c.taps; ++tap)
      taps_block<V, 1, 1>(c, row, tap);
}

// The first of equals, and a NaN before everything, as torch's max_pool1d.
template <int kPool>
void relu_pool_of(const float* in, std::int64_t windows, float* out,
                  std::uint8_t* where, std::int64_t pool = kPool) {
  for (std::int64_t w = 0; w < windows; ++w, in += pool) {
    float best = 0;
    int place = kNowhere;
    for (int a = 0; a < (kPool ? kPool : static_cast<int>(pool)); ++a) {
      const bool better = (in[a] > best) | (in[a] != in[a]);
      best = better ? in[a] : best;
      place = better ? a : place;
    }
    out[w] = best;
    where[w] = static_cast<std::uint8_t>(place);
  }
}

void relu_pool(const float* in, std::int64_t windows, std::int64_t pool,
               float* out, std::uint8_t* where) {
  switch (pool) {
    case 2:
      return relu_pool_of<2>(in, windows, out, where);
    case 3:
      return relu_pool_of<3>(in, windows, out, where);
    case 4:
      return relu_pool_of<4>(in, windows, out, where);
    case 5:
      return relu_pool_of<5>(in, windows, out, where);
    default:
      return relu_pool_of<0>(in, windows, out, where, pool);
  }
}

}  // namespace
}  // namespace lockstep
