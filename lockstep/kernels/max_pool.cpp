// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/max_pool.h"

#include <ATen/ops/max_pool2d.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/gpu_table.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct MaxPool : torch::autograd::Function<MaxPool> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    const MaxPoolForward out = gpu_table().max_pool_forward(x);
    ctx->save_for_backward({out.where});
    ctx->saved_data["sizes"] = x.sizes().vec();
    return out.output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {
        gpu_table().max_pool_backward(grads[0], ctx->get_saved_variables()[0],
                                      ctx->saved_data["sizes"].toIntVector())};
  }
};

}  // namespace

at::Tensor max_pool3x3(const at::Tensor& x) {
  if (x.is_cuda() && gpu_table().has_max_pool != nullptr &&
      gpu_table().has_max_pool(x))
    return MaxPool::apply(x);
  return at::max_pool2d(x, 3, /*stride=*/2, /*padding=*/1);
}

}  // namespace lockstep
