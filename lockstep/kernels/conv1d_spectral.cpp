// SPDX-License-Identifier: Apache-2.0
// The spectral method: blocks of the rows are transformed, multiplied at each
// frequency and transformed back (overlap-save). For kernels of 50
// to 200 taps that is a tenth of the direct method's work or less.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "lockstep/kernels/conv1d_pool.h"
#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/parallel.h"
#include "lockstep/kernels/spectral_table.h"

namespace lockstep {
namespace {

const SpectralTable& spectral_table(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return kSpectralAvx512;
    case Isa::avx2:
      return kSpectralAvx2;
    case Isa::plain:
      break;
  }
  return kSpectralPlain;
}

std::int64_t transform_size(std::int64_t taps) {
  return taps <= 128 ? 256 : 1024;
}

// The layout is fft_body.h's.
std::vector<float> make_twiddles(std::int64_t size) {
  std::vector<float> twiddles;
  for (std::int64_t length = size; length > 1; length /= 4)
    for (std::int64_t j = 0; j < length / 4; ++j)
      for (int power = 1; power <= 3; ++power) {
        const double angle = -2 * std::numbers::pi *
                             static_cast<double>(j * power) /
                             static_cast<double>(length);
        twiddles.push_back(static_cast<float>(std::cos(angle)));
        twiddles.push_back(static_cast<float>(std::sin(angle)));
      }
  return twiddles;
}

// One size of transform for one instruction set.
struct Method {
  Method(const ConvShape& s, Isa isa)
      : table(spectral_table(isa)),
        size(transform_size(s.taps)),
        twiddles(make_twiddles(size)) {}

  // Blocks that give `positions` positions of each row.
  Blocks blocks(const ConvShape& s, std::int64_t positions) const {
    const std::int64_t valid = size - s.taps + 1;
    const std::int64_t count = (positions + valid - 1) / valid;
    return {size, valid, s.batch, (count + 1) / 2};
  }
  Spectra spectra_in(const at::Tensor& buffer, std::int64_t channels,
                     const Blocks& b) const {
    return {buffer.data_ptr<float>(), channels, b.groups(table.lanes)};
  }
  at::Tensor buffer_for(std::int64_t channels, const Blocks& b) const {
    return at::empty({size, channels, b.groups(table.lanes), 2, table.lanes},
                     at::kFloat);
  }

  const SpectralTable& table;
  std::int64_t size;
  std::vector<float> twiddles;
};

// Kernels' spectra and the memory they lie in.
struct Kernels {
  Kernels(std::int64_t size, std::int64_t rows, std::int64_t columns) {
    const std::int64_t stride = (rows * columns + 15) / 16 * 16;
    buffer = at::empty({size, 2, stride}, at::kFloat);
    spectra = {buffer.data_ptr<float>(), rows, columns, stride};
  }
  // work(first, count) for groups of kernels, in parallel.
  template <class Work>
  void for_each_group(std::int64_t lanes, const Work& work) const {
    const std::int64_t all = spectra.rows * spectra.columns;
    parallel_for((all + lanes - 1) / lanes, 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t g = begin; g < end; ++g)
                     work(g * lanes, std::min(lanes, all - g * lanes));
                 });
  }
  at::Tensor buffer;
  KernelSpectra spectra;
};

// As they are (rows are output channels), or for the data gradient: channels
// swapped and taps reversed.
Kernels analyse_weight(const Method& m, const ConvShape& s,
                       const at::Tensor& weight, bool backward) {
  Kernels kernels(m.size, backward ? s.in : s.out, backward ? s.out : s.in);
  const float* w = weight.const_data_ptr<float>();
  kernels.for_each_group(m.table.lanes, [&](std::int64_t first,
                                            std::int64_t count) {
    const float* sources[16];
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const std::int64_t row = (first + lane) / kernels.spectra.columns;
      const std::int64_t column = (first + lane) % kernels.spectra.columns;
      const std::int64_t o = backward ? column : row,
                         i = backward ? row : column;
      sources[lane] = w + (o * s.in + i) * s.taps + (backward ? s.taps - 1 : 0);
    }
    m.table.analyse_kernels(m.size, s.taps, sources, count, backward ? -1 : 1,
                            m.twiddles.data(), kernels.spectra, first);
  });
  return kernels;
}

// finish(channel, rows) gets each channel's finished rows, [batch][positions],
// on its task's thread, while they are in the cache.
template <class Finish>
void synthesise_rows(const Method& m, const ConvShape& s, const Spectra& in,
                     const Kernels& kernels, std::int64_t positions,
                     const float* bias, const Finish& finish) {
  const Blocks b = m.blocks(s, positions);
  const std::int64_t channels = kernels.spectra.rows;
  // With one input channel the product is made on the way.
  const bool fused = in.channels == 1;
  const at::Tensor buffer = fused ? at::Tensor() : m.buffer_for(channels, b);
  const Spectra out = fused ? Spectra{} : m.spectra_in(buffer, channels, b);
  if (!fused)
    parallel_for(m.size, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t f = first; f < last; ++f)
        m.table.correlate(in, kernels.spectra, out, f);
    });
  parallel_for(channels, 1, [&](std::int64_t first, std::int64_t last) {
    const at::Tensor scratch = at::empty({s.batch, positions}, at::kFloat);
    float* rows = scratch.data_ptr<float>();
    const RowsOfChannel to{rows, positions, positions, 0};
    for (std::int64_t c = first; c < last; ++c) {
      const float start = bias ? bias[c] : 0.0f;
      for (std::int64_t g = 0; g < in.groups; ++g)
        fused ? m.table.synthesise_product(b, to, start, m.twiddles.data(), in,
                                           kernels.spectra, c, g)
              : m.table.synthesise(b, to, start, m.twiddles.data(), out, c, g);
      finish(c, rows);
    }
  });
}

// Copies a channel's rows, [batch][positions], into [batch, channels,
// positions].
void put_channel(const at::Tensor& out, std::int64_t channel,
                 const float* rows) {
  const std::int64_t channels = out.size(1), positions = out.size(2);
  for (std::int64_t b = 0; b < out.size(0); ++b)
    std::copy_n(rows + b * positions, positions,
                out.data_ptr<float>() + (b * channels + channel) * positions);
}

void pool_channel(const ConvShape& s, const ConvForward& out,
                  std::int64_t channel, const float* rows, Isa isa) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t at = (b * s.out + channel) * s.windows();
    conv1d_table(isa).relu_pool(rows + b * s.positions(), s.windows(), s.pool,
                                out.output.data_ptr<float>() + at,
                                out.where.data_ptr<std::uint8_t>() + at);
  }
}

// One output channel's gradient before pooling, [batch][positions]; returns
// its sum.
double grad_rows(const ConvShape& s, const ConvForward& kept,
                 const at::Tensor& grad, std::int64_t channel, float* rows) {
  const std::int64_t width = grad.size(2);
  const float* from = grad.const_data_ptr<float>();
  double sum = 0;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t at = (b * s.out + channel) * width;
    float* row = rows + b * s.positions();
    if (s.pool) {
      sum += unpool_row(from + at,
                        kept.where.const_data_ptr<std::uint8_t>() + at, s, row);
    } else {
      std::copy_n(from + at, width, row);
      sum = std::accumulate(row, row + width, sum);
    }
  }
  return sum;
}

// What backward multiplies: the gradient's spectra for the weight (blocks that
// do not overlap) and, if asked for, for the input (blocks that do).
struct GradSpectra {
  at::Tensor for_weight, for_input, bias;
};

GradSpectra analyse_grad(const Method& m, const ConvShape& s,
                         const ConvForward& kept, const at::Tensor& grad,
                         const Spectra& input, const Kernels& weight,
                         bool input_too) {
  const Blocks own = m.blocks(s, s.positions()), data = m.blocks(s, s.length);
  const bool fused = s.in == 1;
  const GradSpectra out{
      .for_weight = fused ? at::Tensor() : m.buffer_for(s.out, own),
      .for_input = input_too ? m.buffer_for(s.out, data) : at::Tensor(),
      .bias = at::empty({s.out}, at::kFloat)};
  parallel_for(s.out, 1, [&](std::int64_t first, std::int64_t last) {
    const at::Tensor scratch = at::empty({s.batch, s.positions()}, at::kFloat);
    RowsOfChannel rows{scratch.data_ptr<float>(), s.positions(), s.positions(),
                       0};
    for (std::int64_t o = first; o < last; ++o) {
      out.bias.data_ptr<float>()[o] =
          static_cast<float>(grad_rows(s, kept, grad, o, rows.data));
      rows.lead = 0;
      if (fused)
        m.table.analyse_product(own, rows, m.twiddles.data(), input,
                                weight.spectra, o);
      else
        for (std::int64_t g = 0; g < own.groups(m.table.lanes); ++g)
          m.table.analyse(own, rows, own.valid, m.twiddles.data(),
                          m.spectra_in(out.for_weight, s.out, own), o, g);
      rows.lead = s.taps - 1 - s.padding;
      for (std::int64_t g = 0; input_too && g < data.groups(m.table.lanes); ++g)
        m.table.analyse(data, rows, m.size, m.twiddles.data(),
                        m.spectra_in(out.for_input, s.out, data), o, g);
    }
  });
  return out;
}

at::Tensor synthesise_weight(const Method& m, const ConvShape& s,
                             const Kernels& kernels) {
  const at::Tensor out = at::empty({s.out, s.in, s.taps}, at::kFloat);
  kernels.for_each_group(
      m.table.lanes, [&](std::int64_t first, std::int64_t count) {
        float* targets[16];
        for (std::int64_t lane = 0; lane < count; ++lane)
          targets[lane] = out.data_ptr<float>() + (first + lane) * s.taps;
        m.table.synthesise_kernels(m.size, s.taps, targets, count,
                                   m.twiddles.data(), kernels.spectra, first);
      });
  return out;
}

at::Tensor input_gradient(const Method& m, const ConvShape& s,
                          const at::Tensor& grad, const at::Tensor& weight) {
  const at::Tensor out = at::empty({s.batch, s.in, s.length}, at::kFloat);
  const Spectra spectra = m.spectra_in(grad, s.out, m.blocks(s, s.length));
  synthesise_rows(
      m, s, spectra, analyse_weight(m, s, weight, /*backward=*/true), s.length,
      /*bias=*/nullptr, [&](std::int64_t channel, const float* rows) {
        put_channel(out, channel, rows);
      });
  return out;
}

}  // namespace

ConvMethod best_method(const ConvShape& s) {
  return s.taps >= 24 && s.taps <= 512 && s.positions() >= 64
             ? ConvMethod::spectral
             : ConvMethod::direct;
}

ConvForward spectral_forward(const ConvShape& s, const at::Tensor& input,
                             const at::Tensor& weight, const at::Tensor& bias,
                             Isa isa) {
  const Method m(s, isa);
  const Blocks b = m.blocks(s, s.positions());
  ConvForward out{.input = m.buffer_for(s.in, b)};
  const Spectra spectra = m.spectra_in(out.input, s.in, b);
  float* from = const_cast<float*>(input.const_data_ptr<float>());
  parallel_for(
      s.in * spectra.groups, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t task = first; task < last; ++task) {
          const std::int64_t i = task / spectra.groups,
                             g = task % spectra.groups;
          m.table.analyse(
              b, {from + i * s.length, s.in * s.length, s.length, s.padding},
              m.size, m.twiddles.data(), spectra, i, g);
        }
      });
  const std::int64_t width = s.pool ? s.windows() : s.positions();
  out.output = at::empty({s.batch, s.out, width}, at::kFloat);
  if (s.pool) out.where = at::empty({s.batch, s.out, width}, at::kByte);
  synthesise_rows(m, s, spectra,
                  analyse_weight(m, s, weight, /*backward=*/false),
                  s.positions(), bias.const_data_ptr<float>(),
                  [&](std::int64_t channel, const float* rows) {
                    s.pool ? pool_channel(s, out, channel, rows, isa)
                           : put_channel(out.output, channel, rows);
                  });
  return out;
}

ConvBackward spectral_backward(const ConvShape& s, const ConvForward& kept,
                               const at::Tensor& weight, const at::Tensor& grad,
                               bool input_too, Isa isa) {
  const Method m(s, isa);
  const Blocks b = m.blocks(s, s.positions());
  const Spectra input = m.spectra_in(kept.input, s.in, b);
  const Kernels kernels(m.size, s.out, s.in);
  const GradSpectra spectra =
      analyse_grad(m, s, kept, grad, input, kernels, input_too);
  if (spectra.for_weight.defined())
    parallel_for(m.size, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t f = first; f < last; ++f)
        m.table.correlate_blocks(input,
                                 m.spectra_in(spectra.for_weight, s.out, b),
                                 kernels.spectra, f);
    });
  return {.input = input_too ? input_gradient(m, s, spectra.for_input, weight)
                             : at::Tensor(),
          .weight = synthesise_weight(m, s, kernels),
          .bias = spectra.bias};
}

}  // namespace lockstep
