// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/norm_op.h"

#include <ATen/ATen.h>

#include <limits>

#include "lockstep/cuda/norm.h"
#include "lockstep/cuda/tensor_args.h"

namespace lockstep {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

NormSizes norm_sizes(const at::Tensor& x) {
  return {x.numel() / x.size(1), static_cast<int>(x.size(1))};
}

NormRange range_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return {0.f, kInfinite, false};
    case Activation::relu6:
      return {0.f, 6.f, false};
    case Activation::gelu:
      return {-kInfinite, kInfinite, true};
    case Activation::none:
      break;
  }
  return {-kInfinite, kInfinite, false};
}

NormSaved saved_of(const at::Tensor& statistics) {
  return {statistics.data_ptr<float>(), static_cast<int>(statistics.size(1))};
}

}  // namespace

bool has_norm_on_gpu(const at::Tensor& x) {
  return has_norm_kernel(norm_sizes(x)) && is_aligned(x);
}

NormForward norm_forward_on_gpu(const NormLayer& layer, const at::Tensor& x,
                                Activation activation,
                                const at::Tensor& residual) {
  const NormSizes s = norm_sizes(x);
  const NormParams params{
      .weight = layer.weight.defined() ? layer.weight.const_data_ptr<float>()
                                       : nullptr,
      .bias = layer.bias.const_data_ptr<float>(),
      .bias_scale = static_cast<float>(layer.bias_scale),
      .running_mean = layer.running_mean.data_ptr<float>(),
      .running_var = layer.running_var.data_ptr<float>(),
      .batches = layer.batches.defined()
                     ? layer.batches.data_ptr<std::int64_t>()
                     : nullptr,
      .momentum = static_cast<float>(layer.momentum),
      .eps = static_cast<float>(layer.eps)};
  NormForward out{.output = at::empty_like(x),
                  .statistics = at::empty({6, x.size(1)}, float_room(x))};
  const at::Tensor room = at::empty({norm_room_floats(s)}, float_room(x));
  norm_forward(s, params, range_of(activation), bf16_of(x), bf16_of(residual),
               bf16_of(out.output), saved_of(out.statistics),
               room.data_ptr<float>(), stream_of(x));
  return out;
}

NormBackward norm_backward_on_gpu(const NormForward& kept, const at::Tensor& x,
                                  const at::Tensor& grad, Activation activation,
                                  bool residual, const at::Tensor& weight_grad,
                                  const at::Tensor& bias_grad) {
  const NormSizes s = norm_sizes(x);
  const at::Tensor g =
      grad.to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
  NormBackward out{.input = at::empty_like(x)};
  // Without an activation the residual's gradient is what came in.
  const bool own = residual && activation != Activation::none;
  if (residual) out.residual = own ? at::empty_like(x) : g;
  const at::Tensor room = at::empty({norm_room_floats(s)}, float_room(x));
  norm_backward(
      s, range_of(activation), bf16_of(g), bf16_of(x), bf16_of(kept.output),
      saved_of(kept.statistics), bf16_of(out.input),
      own ? bf16_of(out.residual) : nullptr,
      {weight_grad.defined() ? weight_grad.data_ptr<float>() : nullptr,
       bias_grad.data_ptr<float>(), static_cast<float>(kept.bias_scale)},
      room.data_ptr<float>(), stream_of(x));
  return out;
}

}  // namespace lockstep
