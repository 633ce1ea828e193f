// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/conv2d.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// cuDNN's tensor-core kernels want eight channels; for three it falls back on
// slow ones. More zeros cost less.
constexpr std::int64_t kFewest = 8;

at::Tensor widened(const at::Tensor& t) {
  if (t.size(1) >= kFewest) return t;
  // zeros() would ignore the memory format.
  at::Tensor out =
      at::empty({t.size(0), kFewest, t.size(2), t.size(3)},
                t.options()
                    .dtype(at::kBFloat16)
                    .memory_format(at::MemoryFormat::ChannelsLast));
  out.zero_().narrow(1, 0, t.size(1)).copy_(t);
  return out;
}

struct Convolution2d : torch::autograd::Function<Convolution2d> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, std::int64_t stride,
                            std::int64_t padding) {
    const at::Tensor x16 = widened(x).to(at::kBFloat16);
    const at::Tensor w16 = widened(half_of(weight));
    ctx->save_for_backward({weight});
    ctx->saved_data["x"] = x16, ctx->saved_data["w"] = w16;
    ctx->saved_data["stride"] = stride, ctx->saved_data["padding"] = padding;
    return at::convolution(x16, w16, {}, {stride, stride}, {padding, padding},
                           {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor weight = ctx->get_saved_variables()[0];
    const std::int64_t stride = ctx->saved_data["stride"].toInt();
    const std::int64_t padding = ctx->saved_data["padding"].toInt();
    const auto [x_grad, w_grad, unused] = at::convolution_backward(
        grads[0], ctx->saved_data["x"].toTensor(),
        ctx->saved_data["w"].toTensor(), at::OptionalIntArrayRef(),
        {stride, stride}, {padding, padding}, {1, 1}, /*transposed=*/false,
        {0, 0}, /*groups=*/1,
        {ctx->needs_input_grad(0), weight.requires_grad(), false});
    const std::int64_t channels = weight.size(1);
    if (weight.requires_grad())
      add_direct_grad(weight, w_grad.narrow(1, 0, channels));
    return {
        x_grad.defined() ? x_grad.narrow(1, 0, channels) : x_grad, {}, {}, {}};
  }
};

}  // namespace

bool takes_direct_conv2d(const at::Tensor& x, const at::Tensor& weight) {
  return weight.requires_grad() ? takes_half(x, weight)
                                : takes_fixed_half(x, weight);
}

at::Tensor conv2d_direct(const at::Tensor& x, const at::Tensor& weight,
                         std::int64_t stride, std::int64_t padding) {
  return Convolution2d::apply(x, weight, stride, padding);
}

}  // namespace lockstep
