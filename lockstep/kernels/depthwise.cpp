// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/depthwise.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/conv2d.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Depthwise : torch::autograd::Function<Depthwise> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const at::Tensor& weight, std::int64_t stride) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["stride"] = stride;
    return gpu_table().depthwise_forward(x, weight, stride);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const std::int64_t stride = ctx->saved_data["stride"].toInt();
    const at::Tensor to = begin_grad(saved[1]);
    const at::Tensor input = gpu_table().depthwise_backward(
        saved[0], saved[1], grads[0], stride, ctx->needs_input_grad(0), to);
    return {input, end_grad(saved[1], to), {}};
  }
};

bool takes_gpu_depthwise(const at::Tensor& x, const at::Tensor& weight,
                         std::int64_t stride) {
  return x.is_cuda() && gpu_table().has_depthwise != nullptr && x.dim() == 4 &&
         x.scalar_type() == at::kBFloat16 &&
         weight.scalar_type() == at::kFloat &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         at::autocast::is_autocast_enabled(at::kCUDA) &&
         gpu_table().has_depthwise(x, stride);
}

}  // namespace

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight,
                             std::int64_t stride) {
  if (takes_gpu_depthwise(x, weight, stride))
    return Depthwise::apply(x, weight, stride);
  return at::conv2d(x, weight, {}, stride, /*padding=*/1, /*dilation=*/1,
                    /*groups=*/weight.size(0));
}

}  // namespace lockstep
