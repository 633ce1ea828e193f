// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/embedding.h"

#include <ATen/ops/embedding.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/half.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight,
                            const at::Tensor& tokens) {
    ctx->save_for_backward({weight, tokens});
    return at::embedding(weight, tokens);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &weight = saved[0], &tokens = saved[1];
    // It adds to rows: what is there must be real.
    settle(weight);
    gpu_table().add_embedding_grad(tokens, grads[0].to(at::kFloat).contiguous(),
                                   weight.grad());
    direct_grad_of(weight)->used = true;
    return {{}, {}};
  }
};

}  // namespace

at::Tensor embed(const at::Tensor& weight, const at::Tensor& tokens) {
  if (gpu_table().add_embedding_grad == nullptr || tokens.numel() == 0 ||
      !takes_half(tokens, weight) || !weight.is_contiguous())
    return at::embedding(weight, tokens);
  return Embedding::apply(weight, tokens);
}

}  // namespace lockstep
