// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/conv1d_op.h"

#include <ATen/ATen.h>

#include "lockstep/cuda/conv1d.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

Conv1dSizes conv1d_sizes(const ConvShape& s) {
  const auto n = [](std::int64_t x) { return static_cast<int>(x); };
  return {.batch = n(s.batch),
          .in = n(s.in),
          .length = n(s.length),
          .out = n(s.out),
          .taps = n(s.taps),
          .padding = n(s.padding),
          .pool = n(s.pool),
          .windows = s.positions() > 0 ? n(s.windows()) : 0};
}

// [batch, channels, length] as bf16 [batch, length, channels padded to eights]:
// the same memory when it came from these kernels, else a copy. What lies in
// the padding is never used.
at::Tensor as_rows(const at::Tensor& x) {
  const std::int64_t b = x.size(0), c = x.size(1), n = x.size(2);
  const std::int64_t c8 = Conv1dSizes::eights(static_cast<int>(c));
  const std::vector<std::int64_t> strides{n * c8, 1, c8};
  const auto whole = static_cast<std::size_t>(x.storage_offset() + b * n * c8);
  if (x.scalar_type() == at::kBFloat16 && x.strides() == strides &&
      is_aligned(x) && x.storage().nbytes() >= whole * x.element_size())
    return x.as_strided({b, n, c8}, {n * c8, c8, 1});
  at::Tensor rows = at::empty({b, n, c8}, x.options().dtype(at::kBFloat16));
  rows.narrow(2, 0, c).copy_(x.transpose(1, 2));
  return rows;
}

// The way back: [batch, length, c8] seen as [batch, channels, length].
// A tensor of its own, not a view: autograd treats it as any other.
at::Tensor as_channels(const at::Tensor& rows, std::int64_t channels) {
  const std::int64_t n = rows.size(1), c8 = rows.size(2);
  at::Tensor out = at::empty({0}, rows.options());
  return out.set_(rows.storage(), 0, {rows.size(0), channels, n},
                  {n * c8, 1, c8});
}

at::Tensor packed(const Conv1dSizes& s, const at::Tensor& weight,
                  bool flipped) {
  const at::Tensor out =
      at::empty({packed_bytes(s, flipped)}, weight.options().dtype(at::kByte));
  pack_weights(s, weight.const_data_ptr<float>(), flipped, out.data_ptr(),
               stream_of(weight));
  return out;
}

}  // namespace

bool has_conv1d_on_gpu(const ConvShape& shape) {
  return has_tensor_core_kernel(conv1d_sizes(shape));
}

ConvForward conv1d_forward_on_gpu(const ConvShape& shape,
                                  const at::Tensor& input,
                                  const at::Tensor& weight,
                                  const at::Tensor& bias) {
  const Conv1dSizes s = conv1d_sizes(shape);
  const at::Tensor rows =
      s.in == 1 ? input.to(at::kFloat).contiguous() : as_rows(input);
  const at::Tensor output = at::empty({s.batch, s.windows, s.out8()},
                                      input.options().dtype(at::kBFloat16));
  const at::Tensor where =
      at::empty(output.sizes(), input.options().dtype(at::kByte));
  const at::Tensor b = bias.to(at::kFloat).contiguous();
  conv1d_forward(s, rows.const_data_ptr(),
                 packed(s, weight.contiguous(), false).const_data_ptr(),
                 b.const_data_ptr<float>(), bf16_of(output),
                 where.data_ptr<std::uint8_t>(), stream_of(input));
  return {.output = as_channels(output, s.out), .input = rows, .where = where};
}

ConvBackward conv1d_backward_on_gpu(const ConvShape& shape,
                                    const ConvForward& kept,
                                    const at::Tensor& weight,
                                    const at::Tensor& grad, bool input_too,
                                    const at::Tensor& weight_grad,
                                    const at::Tensor& bias_grad) {
  const Conv1dSizes s = conv1d_sizes(shape);
  const at::Tensor w = weight.contiguous(), rows = as_rows(grad);
  const auto* where = kept.where.const_data_ptr<std::uint8_t>();
  ConvBackward out;
  const at::Tensor room = at::empty({room_floats(s)}, w.options());
  conv1d_weight_gradient(s, kept.input.const_data_ptr(), bf16_of(rows), where,
                         weight_grad.data_ptr<float>(),
                         bias_grad.data_ptr<float>(), room.data_ptr<float>(),
                         stream_of(grad));
  if (!input_too) return out;
  const at::Tensor to = at::empty({s.batch, s.length, s.in8()}, rows.options());
  conv1d_data_gradient(s, bf16_of(rows), where,
                       packed(s, w, true).const_data_ptr(), bf16_of(to),
                       stream_of(grad));
  out.input = as_channels(to, s.in);
  return out;
}

}  // namespace lockstep
