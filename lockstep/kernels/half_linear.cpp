// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/half_linear.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Parameters lie densely: the matrix of one is a view.
at::Tensor matrix_of(const at::Tensor& weight) {
  return weight.dim() == 2 ? weight : weight.view({weight.size(0), -1});
}

// weight.grad = a b, or += where something was added before.
void write_product(const at::Tensor& weight, const at::Tensor& a,
                   const at::Tensor& b) {
  DirectGrad& direct = *direct_grad_of(weight);
  if (!direct.stale)
    return add_direct_grad(weight, at::mm(a, b, at::kFloat).view_as(weight));
  at::Tensor to = matrix_of(weight.grad());
  at::mm_out(to, a, b, at::kFloat);
  direct.stale = false;
}

struct HalfLinear : torch::autograd::Function<HalfLinear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            bool in_out) {
    const at::Tensor rows = half_rows(x);
    const at::Tensor half = matrix_of(half_of(weight));
    const at::Tensor matrix = in_out ? half : half.t();  // [in, out]
    ctx->save_for_backward({rows, weight, bias.value_or(at::Tensor())});
    ctx->saved_data["matrix"] = matrix, ctx->saved_data["in_out"] = in_out;
    return shaped(
        bias ? at::addmm(half_of(*bias), rows, matrix) : at::mm(rows, matrix),
        x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1], &bias = saved[2];
    const at::Tensor grad = half_rows(grads[0]);
    variable_list out(4);
    if (ctx->needs_input_grad(0)) {
      const at::Tensor matrix = ctx->saved_data["matrix"].toTensor();
      out[0] = shaped(at::mm(grad, matrix.t()), grads[0]);
    }
    if (ctx->saved_data["in_out"].toBool())
      write_product(weight, rows.t(), grad);
    else
      write_product(weight, grad.t(), rows);
    if (bias.defined()) out[2] = half_bias_grad(grad, bias);
    return out;
  }
};

}  // namespace

at::Tensor half_linear(const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias, WeightOrder order) {
  return HalfLinear::apply(x, weight, maybe(bias),
                           order == WeightOrder::in_out);
}

}  // namespace lockstep
