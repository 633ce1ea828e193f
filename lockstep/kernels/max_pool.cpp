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
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const PoolWindow& window) {
    const MaxPoolForward out = gpu_table().max_pool_forward(x, window);
    ctx->save_for_backward({out.where});
    ctx->saved_data["sizes"] = x.sizes().vec();
    ctx->saved_data["window"] =
        std::vector<std::int64_t>{window.size, window.stride, window.padding};
    return out.output;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto window = ctx->saved_data["window"].toIntVector();
    return {
        gpu_table().max_pool_backward(grads[0], ctx->get_saved_variables()[0],
                                      {window[0], window[1], window[2]},
                                      ctx->saved_data["sizes"].toIntVector()),
        {}};
  }
};

}  // namespace

at::Tensor max_pool(const at::Tensor& x, const PoolWindow& window) {
  if (x.is_cuda() && gpu_table().has_max_pool != nullptr &&
      gpu_table().has_max_pool(x, window))
    return MaxPool::apply(x, window);
  return at::max_pool2d(x, window.size, window.stride, window.padding);
}

}  // namespace lockstep
