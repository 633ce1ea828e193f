// SPDX-License-Identifier: Apache-2.0
// The loops of spectral_table.h, written once and compiled for each instruction
// set. No standard templates in here (see update_body.h).
#pragma once

#include "lockstep/kernels/fft_body.h"
#include "lockstep/kernels/spectral_table.h"
#include "lockstep/kernels/vector_body.h"

namespace lockstep {
namespace {

// One block of a row: numbers [first, last) of it exist, the others are zero.
// `row` points to the block's first number, which may lie before the memory.
struct Block {
  float* row = nullptr;
  std::int64_t first = 0, last = 0;
};

inline std::int64_t clamp(std::int64_t value, std::int64_t high) {
  return value < 0 ? 0 : value > high ? high : value;
}

inline Block block_of(const Blocks& b, const RowsOfChannel& rows,
                      std::int64_t pair, int half, std::int64_t take) {
  if (pair >= b.batch * b.pairs) return {};
  // Where in the row's memory the block begins; negative in the lead.
  const std::int64_t at = (pair % b.pairs * 2 + half) * b.valid - rows.lead;
  return {rows.data + pair / b.pairs * rows.stride + at, clamp(-at, take),
          clamp(rows.length - at, take)};
}

// Lanes of a group, in pieces short enough that all lanes of one piece stay in
// the first cache while they are filled or read one after the other.
constexpr std::int64_t kPiece = 64;

// visit(number of z as floats, block, n) for every lane and half, n in a piece.
template <class V, class Visit>
void visit_lanes(Complex<V>* z, const Blocks& b, const RowsOfChannel& rows,
                 std::int64_t group, std::int64_t take, const Visit& visit) {
  Block blocks[V::kLanes][2];
  for (int lane = 0; lane < V::kLanes; ++lane)
    for (int half = 0; half < 2; ++half)
      blocks[lane][half] =
          block_of(b, rows, group * V::kLanes + lane, half, take);
  for (std::int64_t n = 0; n < b.size; n += kPiece)
    for (int lane = 0; lane < V::kLanes; ++lane)
      for (int half = 0; half < 2; ++half)
        visit(reinterpret_cast<float*>(z) + half * V::kLanes + lane,
              blocks[lane][half], n, n + kPiece);
}

// The spectra of a group's pairs.
template <class V>
void spectra_of(Complex<V>* z, const Blocks& b, const RowsOfChannel& rows,
                std::int64_t take, const float* twiddles, std::int64_t group) {
  constexpr std::int64_t kStep = 2 * V::kLanes;
  visit_lanes<V>(
      z, b, rows, group, take,
      [](float* to, const Block& block, std::int64_t n, std::int64_t end) {
        const std::int64_t first = clamp(block.first, end);
        const std::int64_t last = clamp(block.last, end);
        for (; n < first; ++n) to[n * kStep] = 0;
        for (; n < last; ++n) to[n * kStep] = block.row[n];
        for (; n < end; ++n) to[n * kStep] = 0;
      });
  transform<V>(z, b.size, twiddles);
}

// The way back, into the rows.
template <class V>
void rows_from(Complex<V>* z, const Blocks& b, const RowsOfChannel& rows,
               float bias, const float* twiddles, std::int64_t group) {
  transform_back<V>(z, b.size, twiddles);
  const float scale = 1.0f / static_cast<float>(b.size);
  visit_lanes<V>(z, b, rows, group, b.valid,
                 [=](const float* value, const Block& block, std::int64_t n,
                     std::int64_t end) {
                   const std::int64_t last = clamp(block.last, end);
                   for (; n < last; ++n)
                     block.row[n] = value[n * 2 * V::kLanes] * scale + bias;
                 });
}

template <class V>
void analyse(const Blocks& b, const RowsOfChannel& rows, std::int64_t take,
             const float* twiddles, const Spectra& out, std::int64_t channel,
             std::int64_t group) {
  Complex<V> z[kLargestTransform];
  spectra_of<V>(z, b, rows, take, twiddles, group);
  const std::int64_t stride = out.channels * out.groups * 2 * V::kLanes;
  float* to = out.data + (channel * out.groups + group) * 2 * V::kLanes;
  for (std::int64_t f = 0; f < b.size; ++f, to += stride) {
    store<V>(to, z[f].re);
    store<V>(to + V::kLanes, z[f].im);
  }
}

template <class V>
void synthesise(const Blocks& b, const RowsOfChannel& rows, float bias,
                const float* twiddles, const Spectra& in, std::int64_t channel,
                std::int64_t group) {
  Complex<V> z[kLargestTransform];
  const std::int64_t stride = in.channels * in.groups * 2 * V::kLanes;
  const float* from = in.data + (channel * in.groups + group) * 2 * V::kLanes;
  for (std::int64_t f = 0; f < b.size; ++f, from += stride)
    z[f] = Complex<V>{load<V>(from), load<V>(from + V::kLanes)};
  rows_from<V>(z, b, rows, bias, twiddles, group);
}

template <class V>
void synthesise_product(const Blocks& b, const RowsOfChannel& rows, float bias,
                        const float* twiddles, const Spectra& in,
                        const KernelSpectra& kernels, std::int64_t row,
                        std::int64_t group) {
  Complex<V> z[kLargestTransform];
  const float* from = in.data + group * 2 * V::kLanes;
  const float* kernel = kernels.data + row;
  for (std::int64_t f = 0; f < b.size; ++f) {
    const float w[2] = {kernel[0], kernel[kernels.stride]};
    z[f] = times_conjugate<V>({load<V>(from), load<V>(from + V::kLanes)}, w);
    from += in.groups * 2 * V::kLanes;
    kernel += 2 * kernels.stride;
  }
  rows_from<V>(z, b, rows, bias, twiddles, group);
}

template <class V>
void analyse_product(const Blocks& b, const RowsOfChannel& grad,
                     const float* twiddles, const Spectra& in,
                     const KernelSpectra& out, std::int64_t row) {
  Complex<V> z[kLargestTransform], sums[kLargestTransform];
  for (std::int64_t f = 0; f < b.size; ++f) sums[f] = Complex<V>{};
  for (std::int64_t group = 0; group < in.groups; ++group) {
    spectra_of<V>(z, b, grad, b.valid, twiddles, group);
    const float* from = in.data + group * 2 * V::kLanes;
    for (std::int64_t f = 0; f < b.size; ++f) {
      const auto re = load<V>(from), im = load<V>(from + V::kLanes);
      sums[f].re += re * z[f].re + im * z[f].im;
      sums[f].im += im * z[f].re - re * z[f].im;
      from += in.groups * 2 * V::kLanes;
    }
  }
  float* to = out.data + row;
  for (std::int64_t f = 0; f < b.size; ++f, to += 2 * out.stride) {
    to[0] = sum(sums[f].re);
    to[out.stride] = sum(sums[f].im);
  }
}

// The place of a lane's real part in an array of Complex<V>.
template <class V>
inline float* lane_of(Complex<V>* z, std::int64_t lane) {
  return reinterpret_cast<float*>(z) + lane;
}

template <class V>
void analyse_kernels(std::int64_t size, std::int64_t taps,
                     const float* const* sources, std::int64_t count,
                     std::int64_t step, const float* twiddles,
                     const KernelSpectra& out, std::int64_t first) {
  Complex<V> z[kLargestTransform];
  for (std::int64_t n = 0; n < size; ++n) z[n] = Complex<V>{};
  for (std::int64_t lane = 0; lane < count; ++lane)
    for (std::int64_t k = 0; k < taps; ++k)
      lane_of<V>(z, lane)[k * 2 * V::kLanes] = sources[lane][k * step];
  transform<V>(z, size, twiddles);
  float* to = out.data + first;
  for (std::int64_t f = 0; f < size; ++f, to += 2 * out.stride) {
    store<V>(to, z[f].re);
    store<V>(to + out.stride, z[f].im);
  }
}

template <class V>
void synthesise_kernels(std::int64_t size, std::int64_t taps,
                        float* const* targets, std::int64_t count,
                        const float* twiddles, const KernelSpectra& in,
                        std::int64_t first) {
  Complex<V> z[kLargestTransform];
  const float* from = in.data + first;
  for (std::int64_t f = 0; f < size; ++f, from += 2 * in.stride)
    z[f] = Complex<V>{load<V>(from), load<V>(from + in.stride)};
  transform_back<V>(z, size, twiddles);
  const float scale = 1.0f / static_cast<float>(size);
  for (std::int64_t lane = 0; lane < count; ++lane)
    for (std::int64_t k = 0; k < taps; ++k)
      targets[lane][k] = lane_of<V>(z, lane)[k * 2 * V::kLanes] * scale;
}

// kRows x kGroups sums in registers, two of them (real, imaginary) each.
template <class V, int kRows, int kGroups>
void correlate_block(const float* in, const float* re, const float* im,
                     std::int64_t columns, std::int64_t in_stride, float* out,
                     std::int64_t out_stride) {
  Complex<V> sums[kRows][kGroups] = {};
  for (std::int64_t c = 0; c < columns; ++c, in += in_stride) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const typename V::Type a = load<V>(in + g * 2 * V::kLanes);
      const typename V::Type b = load<V>(in + (g * 2 + 1) * V::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const float x = re[r * columns + c], y = im[r * columns + c];
        sums[r][g].re += a * x;
        sums[r][g].im += b * x;
        sums[r][g].re += b * y;
        sums[r][g].im -= a * y;
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int g = 0; g < kGroups; ++g) {
      store<V>(out + r * out_stride + g * 2 * V::kLanes, sums[r][g].re);
      store<V>(out + r * out_stride + (g * 2 + 1) * V::kLanes, sums[r][g].im);
    }
}

template <class V, int kRows, int kGroups>
void correlate(const Spectra& in, const KernelSpectra& kernels,
               const Spectra& out, std::int64_t frequency) {
  const std::int64_t in_stride = in.groups * 2 * V::kLanes;
  const std::int64_t out_stride = out.groups * 2 * V::kLanes;
  const float* x = in.data + frequency * in.channels * in_stride;
  float* y = out.data + frequency * out.channels * out_stride;
  const float* re = kernels.data + frequency * 2 * kernels.stride;
  const float* im = re + kernels.stride;
  const std::int64_t columns = kernels.columns;
  const auto block = [&]<int R, int G>(std::int64_t r, std::int64_t g) {
    correlate_block<V, R, G>(
        x + g * 2 * V::kLanes, re + r * columns, im + r * columns, columns,
        in_stride, y + r * out_stride + g * 2 * V::kLanes, out_stride);
  };
  std::int64_t r = 0;
  for (; r + kRows <= kernels.rows; r += kRows) {
    std::int64_t g = 0;
    for (; g + kGroups <= in.groups; g += kGroups)
      block.template operator()<kRows, kGroups>(r, g);
    for (; g < in.groups; ++g) block.template operator()<kRows, 1>(r, g);
  }
  for (; r < kernels.rows; ++r)
    for (std::int64_t g = 0; g < in.groups; ++g)
      block.template operator()<1, 1>(r, g);
}

// Sums over all blocks, lanes side by side, for kRows x kColumns kernels.
template <class V, int kRows, int kColumns>
void blocks_block(const float* in, const float* grad, std::int64_t in_stride,
                  std::int64_t grad_stride, std::int64_t groups, float* re,
                  float* im, std::int64_t columns) {
  Complex<V> sums[kRows][kColumns] = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t at = g * 2 * V::kLanes;
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const typename V::Type a = load<V>(in + c * in_stride + at);
      const typename V::Type b = load<V>(in + c * in_stride + at + V::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto x = load<V>(grad + r * grad_stride + at);
        const auto y = load<V>(grad + r * grad_stride + at + V::kLanes);
        sums[r][c].re += a * x;
        sums[r][c].im += b * x;
        sums[r][c].re += b * y;
        sums[r][c].im -= a * y;
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) {
      re[r * columns + c] = sum(sums[r][c].re);
      im[r * columns + c] = sum(sums[r][c].im);
    }
}

template <class V, int kRows, int kColumns>
void correlate_blocks(const Spectra& in, const Spectra& grad,
                      const KernelSpectra& out, std::int64_t frequency) {
  const std::int64_t stride = in.groups * 2 * V::kLanes;
  const float* x = in.data + frequency * in.channels * stride;
  const float* y = grad.data + frequency * grad.channels * stride;
  float* re = out.data + frequency * 2 * out.stride;
  const auto block = [&]<int R, int C>(std::int64_t r, std::int64_t c) {
    float* to = re + r * out.columns + c;
    blocks_block<V, R, C>(x + c * stride, y + r * stride, stride, stride,
                          in.groups, to, to + out.stride, out.columns);
  };
  std::int64_t r = 0;
  for (; r + kRows <= out.rows; r += kRows) {
    std::int64_t c = 0;
    for (; c + kColumns <= out.columns; c += kColumns)
      block.template operator()<kRows, kColumns>(r, c);
    for (; c < out.columns; ++c) block.template operator()<kRows, 1>(r, c);
  }
  for (; r < out.rows; ++r)
    for (std::int64_t c = 0; c < out.columns; ++c)
      block.template operator()<1, 1>(r, c);
}

}  // namespace
}  // namespace lockstep
