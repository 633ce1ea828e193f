// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/add_norm.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using MaybeTensor = std::optional<at::Tensor>;

struct AddNorm : torch::autograd::Function<AddNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x,
                               const MaybeTensor& branch,
                               const MaybeTensor& branch_bias,
                               const at::Tensor& weight, const at::Tensor& bias,
                               double eps) {
    const at::Tensor none;
    const AddNormForward out =
        gpu_table().add_norm_forward({.x = x,
                                      .branch = branch.value_or(none),
                                      .branch_bias = branch_bias.value_or(none),
                                      .weight = weight,
                                      .bias = bias,
                                      .eps = eps});
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({branch ? out.sum : x, weight, bias,
                            branch_bias.value_or(none), out.statistics});
    ctx->saved_data["branch"] = branch.has_value();
    if (!branch) return {out.output};
    return {out.output, out.sum};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &weight = saved[1], &bias = saved[2], &added = saved[3];
    const AddNormKept kept{.sum = saved[0],
                           .statistics = saved[4],
                           .weight = weight,
                           .branch = ctx->saved_data["branch"].toBool()};
    const at::Tensor grad =
        grads[0].defined()
            ? grads[0].to(at::kBFloat16).contiguous()
            : at::zeros_like(kept.sum, kept.sum.options().dtype(at::kBFloat16));
    at::Tensor sum_grad = grads.size() > 1 ? grads[1] : at::Tensor();
    if (sum_grad.defined()) sum_grad = sum_grad.to(at::kFloat).contiguous();
    const AddNormGrads to{
        .weight = begin_grad(weight),
        .bias = begin_grad(bias),
        .branch_bias = added.defined() ? begin_grad(added) : at::Tensor()};
    const AddNormBackward out =
        gpu_table().add_norm_backward(kept, grad, sum_grad, to);
    return {out.x,
            out.branch,
            added.defined() ? end_grad(added, to.branch_bias) : at::Tensor(),
            end_grad(weight, to.weight),
            end_grad(bias, to.bias),
            {}};
  }
};

}  // namespace

bool has_add_norm_kernel(const AddNormInput& in) {
  return gpu_table().has_add_norm != nullptr && in.weight.defined() &&
         in.bias.defined() && takes_half(in.x, in.weight) &&
         gpu_table().has_add_norm(in);
}

AddNormOutput add_norm(const AddNormInput& in) {
  const variable_list out =
      AddNorm::apply(in.x, maybe(in.branch), maybe(in.branch_bias), in.weight,
                     in.bias, in.eps);
  return {.sum = out.size() > 1 ? out[1] : in.x, .output = out[0]};
}

}  // namespace lockstep
