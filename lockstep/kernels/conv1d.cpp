// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/conv1d.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/max_pool1d.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/conv1d_steps.h"
#include "lockstep/kernels/conv1d_table.h"
#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

ConvShape shape_of(at::IntArrayRef input, const at::Tensor& weight,
                   std::int64_t padding, std::int64_t pool) {
  return {.batch = input[0],
          .in = input[1],
          .length = input[2],
          .out = weight.size(0),
          .taps = weight.size(2),
          .padding = padding,
          .pool = pool};
}

ConvForward run_forward(const ConvShape& shape, const at::Tensor& input,
                        const at::Tensor& weight, const at::Tensor& bias) {
  if (input.is_cuda())
    return gpu_table().conv1d_forward(shape, input, weight, bias);
  const auto run = best_method(shape) == ConvMethod::spectral ? spectral_forward
                                                              : direct_forward;
  return run(shape, input.contiguous(), weight.contiguous(), bias.contiguous(),
             best_isa());
}

ConvBackward run_backward(const ConvShape& shape, const ConvForward& kept,
                          const at::Tensor& weight, const at::Tensor& grad,
                          bool input_too) {
  const auto run = best_method(shape) == ConvMethod::spectral
                       ? spectral_backward
                       : direct_backward;
  return run(shape, kept, weight.contiguous(), grad.contiguous(), input_too,
             best_isa());
}

// In bf16, as autocast asks for; a wave's own gradient nobody wants.
bool takes_gpu_conv1d(const at::Tensor& input, const at::Tensor& weight,
                      std::int64_t padding, std::int64_t pool) {
  return input.is_cuda() && input.device() == weight.device() &&
         gpu_table().has_conv1d != nullptr && input.dim() == 3 &&
         weight.scalar_type() == at::kFloat &&
         at::autocast::is_autocast_enabled(at::kCUDA) &&
         at::autocast::get_autocast_dtype(at::kCUDA) == at::kBFloat16 &&
         !(input.size(1) == 1 && input.requires_grad()) &&
         gpu_table().has_conv1d(shape_of(input.sizes(), weight, padding, pool));
}

// pool is 0 for a convolution alone.
struct Convolution : torch::autograd::Function<Convolution> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            std::int64_t padding, std::int64_t pool) {
    const ConvShape shape = shape_of(input.sizes(), weight, padding, pool);
    const ConvForward out = run_forward(shape, input, weight, bias);
    ctx->save_for_backward({weight, bias});
    ctx->saved_data["input"] = out.input;
    ctx->saved_data["where"] = out.where;
    ctx->saved_data["sizes"] = input.sizes().vec();
    ctx->saved_data["padding"] = padding;
    ctx->saved_data["pool"] = pool;
    return out.output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor weight = ctx->get_saved_variables()[0];
    const at::Tensor bias = ctx->get_saved_variables()[1];
    const ConvShape shape = shape_of(ctx->saved_data["sizes"].toIntVector(),
                                     weight, ctx->saved_data["padding"].toInt(),
                                     ctx->saved_data["pool"].toInt());
    const ConvForward kept{.input = ctx->saved_data["input"].toTensor(),
                           .where = ctx->saved_data["where"].toTensor()};
    if (grads[0].is_cuda()) {
      const at::Tensor to = begin_grad(weight), bias_to = begin_grad(bias);
      const ConvBackward out = gpu_table().conv1d_backward(
          shape, kept, weight, grads[0], ctx->needs_input_grad(0), to, bias_to);
      return {out.input, end_grad(weight, to), end_grad(bias, bias_to), {}, {}};
    }
    const ConvBackward out =
        run_backward(shape, kept, weight, grads[0], ctx->needs_input_grad(0));
    return {out.input, out.weight, out.bias, {}, {}};
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
  if (takes_gpu_conv1d(input, weight, padding, pool))
    return Convolution::apply(input, weight, bias, padding, pool);
  if (!has_conv1d_kernel(input, weight, padding) || pool >= kNowhere)
    return at::max_pool1d(conv1d(input, weight, bias, padding).relu(), pool);
  return Convolution::apply(input, weight, bias, padding, pool);
}

}  // namespace lockstep
