// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/gelu.h"

#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct BiasGelu : torch::autograd::Function<BiasGelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& bias, bool tanh) {
    ctx->save_for_backward({x, bias});
    ctx->saved_data["tanh"] = tanh;
    return gpu_table().gelu_forward(x, bias, tanh);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor to = begin_grad(saved[1]);
    const at::Tensor x_grad = gpu_table().gelu_backward(
        grads[0].to(at::kBFloat16).contiguous(), saved[0], saved[1],
        ctx->saved_data["tanh"].toBool(), to);
    return {x_grad, end_grad(saved[1], to), {}};
  }
};

}  // namespace

bool has_bias_gelu_kernel(const at::Tensor& x, const at::Tensor& bias) {
  return gpu_table().has_gelu != nullptr && bias.defined() &&
         takes_half(x, bias) && gpu_table().has_gelu(x, bias);
}

at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh) {
  return BiasGelu::apply(x, bias, tanh);
}

}  // namespace lockstep
