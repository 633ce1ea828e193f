// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/conv1d.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/max_pool1d.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/conv1d_table.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// pool is 0 for a convolution alone.
struct Convolution : torch::autograd::Function<Convolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            std::int64_t padding, std::int64_t pool) {
    const ConvShape shape = shape_of(input.sizes(), weight, padding, pool);
    const auto run = best_method(shape) == ConvMethod::spectral
                         ? spectral_forward
                         : direct_forward;
    const ConvForward out = run(shape, input.contiguous(), weight.contiguous(),
                                bias.contiguous(), best_isa());
    ctx->save_for_backward({weight});
    ctx->saved_data["input"] = out.input;
    ctx->saved_data["where"] = out.where;
    ctx->saved_data["sizes"] = input.sizes().vec();
    ctx->saved_data["padding"] = padding;
    ctx->saved_data["pool"] = pool;
    return out.output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor weight = ctx->get_saved_variables()[0];
    const ConvShape shape = shape_of(ctx->saved_data["sizes"].toIntVector(),
                                     weight, ctx->saved_data["padding"].toInt(),
                                     ctx->saved_data["pool"].toInt());
    const ConvForward kept{.input = ctx->saved_data["input"].toTensor(),
                           .where = ctx->saved_data["where"].toTensor()};
    const auto run = best_method(shape) == ConvMethod::spectral
                         ? spectral_backward
                         : direct_backward;
    const ConvBackward out =
        run(shape, kept, weight.contiguous(), grads[0].contiguous(),
            ctx->needs_input_grad(0), best_isa());
    return {out.input, out.weight, out.bias, {}, {}};
  }

  static ConvShape shape_of(at::IntArrayRef input, const at::Tensor& weight,
                            std::int64_t padding, std::int64_t pool) {
    return {.batch = input[0],
            .in = input[1],
            .length = input[2],
            .out = weight.size(0),
            .taps = weight.size(2),
            .padding = padding,
            .pool = pool};
  }
};

}  // namespace

bool has_conv1d_kernel(const at::Tensor& input, const at::Tensor& weight,
                       std::int64_t padding) {
  return input.is_cpu() && weight.is_cpu() && input.dim() == 3 &&
         input.scalar_type() == at::kFloat &&
         weight.scalar_type() == at::kFloat && padding < weight.size(2) &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor conv1d(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias, std::int64_t padding) {
  if (!has_conv1d_kernel(input, weight, padding))
    return at::conv1d(input, weight, bias, /*stride=*/1, padding);
  return Convolution::apply(input, weight, bias, padding, std::int64_t{0});
}

at::Tensor conv1d_relu_max_pool1d(const at::Tensor& input,
                                  const at::Tensor& weight,
                                  const at::Tensor& bias, std::int64_t padding,
                                  std::int64_t pool) {
  if (!has_conv1d_kernel(input, weight, padding) || pool >= kNowhere)
    return at::max_pool1d(conv1d(input, weight, bias, padding).relu(), pool);
  return Convolution::apply(input, weight, bias, padding, pool);
}

}  // namespace lockstep
