// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/batch_norm.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu6.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/core/error.h"
#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The layer travels beside autograd: its state is not differentiated.
struct NormActivation : torch::autograd::Function<NormActivation> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const std::optional<at::Tensor>& scale,
                            const at::Tensor& bias,
                            const std::optional<at::Tensor>& added,
                            const NormLayer* layer, std::int64_t activation) {
    const at::Tensor residual = added.value_or(at::Tensor());
    const at::Tensor weight = scale.value_or(at::Tensor());
    NormLayer own = *layer;
    own.weight = weight, own.bias = bias;
    const NormForward out = gpu_table().norm_forward(
        own, x, static_cast<Activation>(activation), residual);
    // Without a residual, or an activation, backward can do without it.
    const bool keep = residual.defined() &&
                      static_cast<Activation>(activation) != Activation::none;
    ctx->save_for_backward({x, keep ? out.output : at::Tensor(), weight, bias});
    ctx->saved_data["statistics"] = out.statistics;
    ctx->saved_data["bias_scale"] = layer->bias_scale;
    ctx->saved_data["activation"] = activation;
    ctx->saved_data["residual"] = residual.defined();
    return out.output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const NormForward kept{
        .output = saved[1],
        .statistics = ctx->saved_data["statistics"].toTensor(),
        .bias_scale = ctx->saved_data["bias_scale"].toDouble()};
    const auto activation =
        static_cast<Activation>(ctx->saved_data["activation"].toInt());
    const at::Tensor &weight = saved[2], &bias = saved[3];
    const at::Tensor to = weight.defined() ? begin_grad(weight) : weight;
    const at::Tensor bias_to = begin_grad(bias);
    const NormBackward out = gpu_table().norm_backward(
        kept, saved[0], grads[0], activation,
        ctx->saved_data["residual"].toBool(), to, bias_to);
    return {out.input,
            weight.defined() ? end_grad(weight, to) : at::Tensor(),
            end_grad(bias, bias_to),
            out.residual,
            {},
            {}};
  }
};

}  // namespace

bool has_norm_kernel(const NormLayer& layer, const at::Tensor& x,
                     const at::Tensor& residual) {
  const auto fits = [](const at::Tensor& t) {
    return t.scalar_type() == at::kBFloat16 &&
           t.is_contiguous(at::MemoryFormat::ChannelsLast);
  };
  return x.is_cuda() && gpu_table().has_norm != nullptr && layer.training &&
         layer.bias.defined() && layer.running_mean.defined() && x.dim() == 4 &&
         fits(x) &&
         (!residual.defined() ||
          (fits(residual) && residual.sizes() == x.sizes())) &&
         gpu_table().has_norm(x);
}

at::Tensor norm_activation(const NormLayer& layer, const at::Tensor& x,
                           Activation activation, const at::Tensor& residual) {
  check(activation != Activation::gelu || !residual.defined(),
        "GELU after BatchNorm takes no residual");
  return NormActivation::apply(x, maybe(layer.weight), layer.bias,
                               maybe(residual), &layer,
                               static_cast<std::int64_t>(activation));
}

at::Tensor activate(at::Tensor x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return x.relu_();
    case Activation::relu6:
      // Not in place: autograd would first copy what it is about to overwrite.
      return at::relu6(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::none:
      break;
  }
  return x;
}

}  // namespace lockstep
