// SPDX-License-Identifier: Apache-2.0
// The loops of linear_table.h, written once and compiled for each instruction
// set. The weight is larger than every cache: each of its lines is touched
// once. No standard templates in here (see update_body.h).
#pragma once

#include "lockstep/kernels/linear_table.h"
#include "lockstep/kernels/vector_body.h"

namespace lockstep {
namespace {

// Partial sums of kRows rows for every sample of a batch.
template <class V, int kRows>
struct Sums {
  typename V::Type of[kLinearBatch][kRows];
};

// Adds columns [begin, end), whole vectors, to the sums of kSamples samples.
template <class V, int kRows, int kSamples>
void add_dots(const LinearWork& w, std::int64_t row, std::int64_t sample,
              std::int64_t begin, std::int64_t end, Sums<V, kRows>& sums) {
  typename V::Type local[kSamples][kRows];
  for (int s = 0; s < kSamples; ++s)
    for (int r = 0; r < kRows; ++r) local[s][r] = sums.of[sample + s][r];
  const float* weight = w.weight + row * w.in;
  const float* input = w.input + sample * w.in;
  for (std::int64_t i = begin; i < end; i += V::kLanes) {
    typename V::Type line[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) line[r] = load<V>(weight + r * w.in + i);
#pragma GCC unroll 8
    for (int s = 0; s < kSamples; ++s) {
      const typename V::Type x = load<V>(input + s * w.in + i);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) local[s][r] += line[r] * x;
    }
  }
  for (int s = 0; s < kSamples; ++s)
    for (int r = 0; r < kRows; ++r) sums.of[sample + s][r] = local[s][r];
}

// The sums become outputs; columns from `rest` on do not fill a vector.
template <class V, int kRows>
void put_outputs(const LinearWork& w, std::int64_t row, std::int64_t rest,
                 const Sums<V, kRows>& sums) {
  for (std::int64_t s = 0; s < w.batch; ++s)
    for (int r = 0; r < kRows; ++r) {
      float total = sum(sums.of[s][r]);
      for (std::int64_t j = rest; j < w.in; ++j)
        total += w.weight[(row + r) * w.in + j] * w.input[s * w.in + j];
      w.output[s * w.out + row + r] = total + (w.bias ? w.bias[row + r] : 0.0f);
    }
}

// In strips of columns: all samples use a strip of the rows while the first
// cache holds it.
template <class V, int kRows, int kSamples>
void forward_rows(const LinearWork& w, std::int64_t row) {
  constexpr std::int64_t kStrip = 512;
  const std::int64_t rest = w.in / V::kLanes * V::kLanes;
  Sums<V, kRows> sums = {};
  for (std::int64_t begin = 0; begin < rest; begin += kStrip) {
    const std::int64_t end = begin + kStrip < rest ? begin + kStrip : rest;
    std::int64_t s = 0;
    for (; s + kSamples <= w.batch; s += kSamples)
      add_dots<V, kRows, kSamples>(w, row, s, begin, end, sums);
    for (; s + 2 <= w.batch; s += 2)
      add_dots<V, kRows, 2>(w, row, s, begin, end, sums);
    for (; s < w.batch; ++s) add_dots<V, kRows, 1>(w, row, s, begin, end, sums);
  }
  put_outputs<V, kRows>(w, row, rest, sums);
}

template <class V, int kRows, int kSamples>
void linear_forward(const LinearWork& w) {
  std::int64_t row = w.first;
  for (; row + kRows <= w.last; row += kRows)
    forward_rows<V, kRows, kSamples>(w, row);
  for (; row < w.last; ++row) forward_rows<V, 1, kSamples>(w, row);
}

// kRows x (kVecs vectors) of the gradient at column `i`.
template <class V, class Put, int kRows, int kVecs>
void outer_block(const LinearWork& w, std::int64_t row, std::int64_t i,
                 const Put& put) {
  typename V::Type sums[kRows][kVecs] = {};
  for (std::int64_t b = 0; b < w.batch; ++b) {
    const float* input = w.input + b * w.in + i;
    const float* grad = w.grad + b * w.out + row;
    typename V::Type x[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) x[v] = load<V>(input + v * V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) sums[r][v] += grad[r] * x[v];
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVecs; ++v)
      put(w.weight + (row + r) * w.in + i + v * V::kLanes, sums[r][v]);
}

inline void outer_rest(const LinearWork& w, std::int64_t row, std::int64_t i) {
  float total = 0;
  for (std::int64_t b = 0; b < w.batch; ++b)
    total += w.grad[b * w.out + row] * w.input[b * w.in + i];
  float& to = w.weight[row * w.in + i];
  to = w.overwrite ? total : to + total;
}

// Columns [begin, end) of kRows rows.
template <class V, class Put, int kRows, int kVecs>
void outer_rows(const LinearWork& w, std::int64_t row, std::int64_t begin,
                std::int64_t end, const Put& put) {
  std::int64_t i = begin;
  for (; i + kVecs * V::kLanes <= end; i += kVecs * V::kLanes)
    outer_block<V, Put, kRows, kVecs>(w, row, i, put);
  for (; i + V::kLanes <= end; i += V::kLanes)
    outer_block<V, Put, kRows, 1>(w, row, i, put);
  for (; i < end; ++i)
    for (int r = 0; r < kRows; ++r) outer_rest(w, row + r, i);
}

// Strips of columns whose inputs fit the first cache, written row after row.
template <class V, int kRows, int kVecs, class Put>
void outer(const LinearWork& w, const Put& put) {
  const std::int64_t strip = 4096 / (w.batch / 4 + 1) / 64 * 64 + 64;
  for (std::int64_t begin = 0; begin < w.in; begin += strip) {
    const std::int64_t end = begin + strip < w.in ? begin + strip : w.in;
    std::int64_t row = w.first;
    for (; row + kRows <= w.last; row += kRows)
      outer_rows<V, Put, kRows, kVecs>(w, row, begin, end, put);
    for (; row < w.last; ++row)
      outer_rows<V, Put, 1, kVecs>(w, row, begin, end, put);
  }
}

// Stream writes a whole aligned vector past the caches: the gradient is read
// again only after more than a cache of it was written.
template <class V, int kRows, int kVecs, class Stream>
void linear_weight_gradient(const LinearWork& w) {
  constexpr auto kBytes = V::kLanes * sizeof(float);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(w.weight) % kBytes == 0 &&
      static_cast<std::size_t>(w.in) * sizeof(float) % kBytes == 0;
  if (!w.overwrite)
    outer<V, kRows, kVecs>(w, [](float* to, typename V::Type value) {
      store<V>(to, load<V>(to) + value);
    });
  else if (aligned)
    outer<V, kRows, kVecs>(w, Stream{});
  else
    outer<V, kRows, kVecs>(
        w, [](float* to, typename V::Type value) { store<V>(to, value); });
  Stream::finish();
}

}  // namespace
}  // namespace lockstep
