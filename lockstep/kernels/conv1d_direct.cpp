// SPDX-License-Identifier: Apache-2.0
// The direct method: sums of products on rows with zeros around them, so that
// the inner loops (conv1d_body.h) know no borders.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "lockstep/kernels/conv1d_pool.h"
#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/conv1d_table.h"
#include "lockstep/kernels/parallel.h"

namespace lockstep {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t groups_of(std::int64_t rows) {
  return (rows + kConvRows - 1) / kConvRows;
}

// Rows with zeros on both sides. The data begins on a cache line in every row.
struct PaddedRows {
  PaddedRows(at::Tensor padded, std::int64_t left)
      : buffer(std::move(padded)), offset(round_up(left, 16)) {}
  PaddedRows(std::int64_t batch, std::int64_t rows, std::int64_t length,
             std::int64_t left, std::int64_t right)
      : offset(round_up(left, 16)) {
    const std::int64_t padded_length = round_up(offset + length + right, 16);
    buffer = at::empty({batch, rows, padded_length}, at::kFloat);
  }
  std::int64_t stride() const { return buffer.size(2); }
  std::int64_t channels() const { return buffer.size(1); }
  float* row(std::int64_t batch, std::int64_t channel) const {
    return buffer.data_ptr<float>() +
           (batch * channels() + channel) * stride() + offset;
  }
  // Zeros around a row whose data is, or will be, written.
  void clear_sides(float* row, std::int64_t length) const {
    std::fill_n(row - offset, offset, 0.0f);
    std::fill(row + length, row - offset + stride(), 0.0f);
  }
  at::Tensor buffer;  // [batch, channels, stride]
  std::int64_t offset = 0;
};

PaddedRows pad_input(const ConvShape& s, const at::Tensor& input) {
  const PaddedRows rows(s.batch, s.in, s.length, s.padding,
                        s.padding + s.taps + kConvSlack);
  const float* from = input.const_data_ptr<float>();
  parallel_for(s.batch * s.in, 4, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      float* row = rows.row(0, i);
      std::copy_n(from + i * s.length, s.length, row);
      rows.clear_sides(row, s.length);
    }
  });
  return rows;
}

// The gradient before pooling, and its sum for each output channel.
std::pair<PaddedRows, at::Tensor> pad_grad(const ConvShape& s,
                                           const ConvForward& kept,
                                           const at::Tensor& grad) {
  const std::int64_t left = s.taps - 1 - s.padding;
  PaddedRows rows(s.batch, s.out, s.positions(), left,
                  left + s.padding + kConvSlack);
  const at::Tensor bias = at::empty({s.out}, at::kFloat);
  const float* from = grad.const_data_ptr<float>();
  const std::uint8_t* where =
      s.pool ? kept.where.const_data_ptr<std::uint8_t>() : nullptr;
  const std::int64_t width = s.pool ? s.windows() : s.positions();
  parallel_for(s.out, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t o = first; o < last; ++o) {
      double sum = 0;
      for (std::int64_t b = 0; b < s.batch; ++b) {
        float* row = rows.row(b, o);
        const std::int64_t at = (b * s.out + o) * width;
        if (s.pool) {
          sum += unpool_row(from + at, where + at, s, row);
        } else {
          std::copy_n(from + at, width, row);
          sum = std::accumulate(row, row + width, sum);
        }
        rows.clear_sides(row, s.positions());
      }
      bias.data_ptr<float>()[o] = static_cast<float>(sum);
    }
  });
  return {std::move(rows), bias};
}

// Weights of a correlation, [rows, columns, taps] as `at(row, column, tap)`
// gives them, in groups of kConvRows: [group][column][tap][row of the group].
template <class At>
std::vector<float> pack(std::int64_t rows, std::int64_t columns,
                        std::int64_t taps, const At& at) {
  const std::int64_t group_size = columns * taps * kConvRows;
  std::vector<float> packed(
      static_cast<std::size_t>(groups_of(rows) * group_size));
  parallel_for(rows, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      float* to =
          packed.data() + row / kConvRows * group_size + row % kConvRows;
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t k = 0; k < taps; ++k, to += kConvRows)
          *to = at(row, c, k);
    }
  });
  return packed;
}

// One correlation of padded rows with packed weights.
struct Correlation {
  const PaddedRows& input;
  std::int64_t shift = 0;  // of the first tap from the data's begin
  const std::vector<float>& weights;
  const float* bias = nullptr;
  std::int64_t rows = 0, taps = 0, positions = 0;
};

// run(b, row, work) gets each group of rows to compute, on its task's thread.
template <class Run>
void correlate(const Correlation& c, const Run& run) {
  const std::int64_t batch = c.input.buffer.size(0);
  const std::int64_t columns = c.input.channels();
  const std::int64_t groups = groups_of(c.rows);
  const std::int64_t group_size = columns * c.taps * kConvRows;
  parallel_for(batch * groups, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t b = task / groups, group = task % groups;
      const std::int64_t row = group * kConvRows;
      run(b, row,
          ConvRows{.in = c.input.row(b, 0) + c.shift,
                   .weights = c.weights.data() + group * group_size,
                   .bias = c.bias ? c.bias + row : nullptr,
                   .in_channels = columns,
                   .in_stride = c.input.stride(),
                   .taps = c.taps,
                   .rows = std::min(kConvRows, c.rows - row),
                   .positions = c.positions,
                   .out_stride = c.positions});
    }
  });
}

// Each group's rows go straight to [batch, rows, positions].
at::Tensor correlate_to_memory(const Correlation& c, Isa isa) {
  const at::Tensor out =
      at::empty({c.input.buffer.size(0), c.rows, c.positions}, at::kFloat);
  float* to = out.data_ptr<float>();
  correlate(c, [&](std::int64_t b, std::int64_t row, ConvRows work) {
    work.out = to + (b * c.rows + row) * c.positions;
    conv1d_table(isa).rows(work);
  });
  return out;
}

void correlate_and_pool(const Correlation& c, const ConvShape& s,
                        ConvForward& out, Isa isa) {
  out.output = at::empty({s.batch, s.out, s.windows()}, at::kFloat);
  out.where = at::empty({s.batch, s.out, s.windows()}, at::kByte);
  float* values = out.output.data_ptr<float>();
  std::uint8_t* where = out.where.data_ptr<std::uint8_t>();
  const Conv1dTable& table = conv1d_table(isa);
  correlate(c, [&](std::int64_t b, std::int64_t row, ConvRows work) {
    const at::Tensor scratch = at::empty({kConvRows, c.positions}, at::kFloat);
    work.out = scratch.data_ptr<float>();
    table.rows(work);
    for (std::int64_t r = 0; r < work.rows; ++r) {
      const std::int64_t at = (b * s.out + row + r) * s.windows();
      table.relu_pool(work.out + r * c.positions, s.windows(), s.pool,
                      values + at, where + at);
    }
  });
}

// A correlation too: channels swapped, taps reversed.
at::Tensor data_gradient(const ConvShape& s, const PaddedRows& grad,
                         const at::Tensor& weight, Isa isa) {
  const float* w = weight.const_data_ptr<float>();
  const std::vector<float> packed = pack(
      s.in, s.out, s.taps, [&](std::int64_t i, std::int64_t o, std::int64_t k) {
        return w[(o * s.in + i) * s.taps + s.taps - 1 - k];
      });
  return correlate_to_memory({.input = grad,
                              .shift = s.padding - (s.taps - 1),
                              .weights = packed,
                              .rows = s.in,
                              .taps = s.taps,
                              .positions = s.length},
                             isa);
}

at::Tensor weight_gradient(const ConvShape& s, const PaddedRows& input,
                           const PaddedRows& grad, Isa isa) {
  const std::int64_t groups = groups_of(s.out), steps = groups_of(s.taps);
  const at::Tensor out = at::empty({s.out, s.in, s.taps}, at::kFloat);
  float* to = out.data_ptr<float>();
  const auto run = conv1d_table(isa).taps;
  // Neighbouring tasks share the gradient rows of a group.
  parallel_for(groups * s.in * steps, 1,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t task = first; task < last; ++task) {
                   const std::int64_t row = task / (s.in * steps) * kConvRows;
                   const std::int64_t column = task / steps % s.in;
                   const std::int64_t tap = task % steps * kConvRows;
                   run({.in = input.row(0, column) - s.padding + tap,
                        .grad = grad.row(0, row),
                        .out = to + (row * s.in + column) * s.taps + tap,
                        .batch = s.batch,
                        .in_batch = s.in * input.stride(),
                        .grad_batch = s.out * grad.stride(),
                        .grad_stride = grad.stride(),
                        .out_stride = s.in * s.taps,
                        .rows = std::min(kConvRows, s.out - row),
                        .taps = std::min(kConvRows, s.taps - tap),
                        .positions = s.positions()});
                 }
               });
  return out;
}

}  // namespace

ConvForward direct_forward(const ConvShape& s, const at::Tensor& input,
                           const at::Tensor& weight, const at::Tensor& bias,
                           Isa isa) {
  const PaddedRows rows = pad_input(s, input);
  const float* w = weight.const_data_ptr<float>();
  const std::vector<float> packed = pack(
      s.out, s.in, s.taps, [&](std::int64_t o, std::int64_t i, std::int64_t k) {
        return w[(o * s.in + i) * s.taps + k];
      });
  const Correlation c{.input = rows,
                      .shift = -s.padding,
                      .weights = packed,
                      .bias = bias.const_data_ptr<float>(),
                      .rows = s.out,
                      .taps = s.taps,
                      .positions = s.positions()};
  ConvForward out{.input = rows.buffer};
  if (s.pool)
    correlate_and_pool(c, s, out, isa);
  else
    out.output = correlate_to_memory(c, isa);
  return out;
}

ConvBackward direct_backward(const ConvShape& s, const ConvForward& kept,
                             const at::Tensor& weight, const at::Tensor& grad,
                             bool input_too, Isa isa) {
  const PaddedRows input(kept.input, s.padding);
  const auto [rows, bias] = pad_grad(s, kept, grad);
  return {
      .input = input_too ? data_gradient(s, rows, weight, isa) : at::Tensor(),
      .weight = weight_gradient(s, input, rows, isa),
      .bias = bias};
}

}  // namespace lockstep
