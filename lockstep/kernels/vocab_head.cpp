// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/vocab_head.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/half.h"
#include "lockstep/kernels/half_linear.h"
#include "lockstep/kernels/padded.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The gradient with zeros behind each row, [rows, padded].
at::Tensor padded_grad(const at::Tensor& grad) {
  if (grad.scalar_type() == at::kBFloat16 && is_padded(grad))
    return with_padding(grad);
  const std::int64_t columns = grad.size(-1);
  return at::constant_pad_nd(
      grad.to(at::kBFloat16).reshape({-1, columns}),
      at::IntArrayRef({0, padded_columns(columns) - columns}));
}

struct VocabHead : torch::autograd::Function<VocabHead> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight) {
    const std::int64_t vocab = weight.size(0);
    const at::Tensor rows = half_rows(x);
    const at::Tensor wide = at::constant_pad_nd(
        half_of(weight),
        at::IntArrayRef({0, 0, 0, padded_columns(vocab) - vocab}));
    ctx->save_for_backward({rows, weight});
    ctx->saved_data["wide"] = wide;
    std::vector<std::int64_t> sizes = x.sizes().vec();
    sizes.back() = vocab;
    return without_padding(at::mm(rows, wide.t()), sizes);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1];
    const at::Tensor grad = padded_grad(grads[0]);
    const at::Tensor product = at::mm(grad.t(), rows, at::kFloat);
    add_direct_grad(weight, product.narrow(0, 0, weight.size(0)));
    if (!ctx->needs_input_grad(0)) return {{}, {}};
    const at::Tensor wide = ctx->saved_data["wide"].toTensor();
    return {shaped(at::mm(grad, wide), grads[0]), {}};
  }
};

}  // namespace

at::Tensor vocab_head(const at::Tensor& x, const at::Tensor& weight) {
  if (padded_columns(weight.size(0)) == weight.size(0))
    return half_linear(x, weight, {});
  return VocabHead::apply(x, weight);
}

}  // namespace lockstep
