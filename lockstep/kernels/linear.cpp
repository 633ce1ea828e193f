// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/linear.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/kernels/linear_table.h"
#include "lockstep/kernels/parallel.h"

namespace lockstep {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const LinearTable& linear_table(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return kLinearAvx512;
    case Isa::avx2:
      return kLinearAvx2;
    case Isa::plain:
      break;
  }
  return kLinearPlain;
}

// Rows that stay together whatever the number of threads, so that each is
// summed in the same order.
constexpr std::int64_t kRowGroup = 30;

template <class Run>
void share_rows(const LinearWork& all, const Run& run) {
  const std::int64_t groups = (all.out + kRowGroup - 1) / kRowGroup;
  parallel_for(groups, 1, [&](std::int64_t first, std::int64_t last) {
    LinearWork part = all;
    part.first = first * kRowGroup;
    part.last = std::min(last * kRowGroup, all.out);
    run(part);
  });
}

bool is_small(const at::Tensor& batch) {
  return batch.is_cpu() && batch.size(0) <= kSmallBatch;
}

// Adds the weight's gradient where it belongs, or overwrites what is stale.
void write_weight_gradient(const at::Tensor& grad, const at::Tensor& input,
                           const at::Tensor& weight) {
  DirectGrad& direct = *direct_grad_of(weight);
  at::Tensor to = weight.grad();
  if (is_small(grad) && to.is_contiguous())
    small_batch_weight_gradient(grad, input, to, direct.stale);
  else
    at::addmm_out(to, to, grad.t(), input, /*beta=*/direct.stale ? 0 : 1);
  direct.used = true;
  direct.stale = false;
}

at::Tensor bias_gradient(const at::Tensor& grad, const at::Tensor& bias) {
  if (!grad.is_cuda() || gpu_table().column_sums == nullptr) return grad.sum(0);
  const at::Tensor to = begin_grad(bias);
  gpu_table().column_sums(grad, to);
  return end_grad(bias, to);
}

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias) {
    ctx->save_for_backward({input, weight, bias});
    if (is_small(input))
      return small_batch_forward(input.contiguous(), weight, bias);
    return bias.defined() ? at::addmm(bias, input, weight.t())
                          : at::mm(input, weight.t());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1];
    const at::Tensor grad = grads[0].contiguous();
    variable_list out(3);
    if (ctx->needs_input_grad(0)) out[0] = at::mm(grad, weight);
    if (ctx->needs_input_grad(1))
      write_weight_gradient(grad, input.contiguous(), weight);
    if (ctx->needs_input_grad(2)) out[2] = bias_gradient(grad, saved[2]);
    return out;
  }
};

bool takes_direct_gradient(const at::Tensor& input, const at::Tensor& weight) {
  return direct_grad_of(weight) && weight.grad().defined() &&
         weight.is_contiguous() && weight.requires_grad() &&
         at::GradMode::is_enabled() && input.dim() == 2 &&
         input.device() == weight.device() &&
         input.scalar_type() == at::kFloat &&
         !at::autocast::is_autocast_enabled(input.device().type());
}

}  // namespace

at::Tensor small_batch_forward(const at::Tensor& input,
                               const at::Tensor& weight, const at::Tensor& bias,
                               Isa isa) {
  const at::Tensor output =
      at::empty({input.size(0), weight.size(0)}, at::kFloat);
  const LinearWork work{
      .input = input.const_data_ptr<float>(),
      .bias = bias.defined() ? bias.const_data_ptr<float>() : nullptr,
      .weight = const_cast<float*>(weight.const_data_ptr<float>()),
      .output = output.data_ptr<float>(),
      .batch = input.size(0),
      .in = input.size(1),
      .out = weight.size(0)};
  share_rows(work, linear_table(isa).forward);
  return output;
}

void small_batch_weight_gradient(const at::Tensor& grad,
                                 const at::Tensor& input, at::Tensor& to,
                                 bool overwrite, Isa isa) {
  const LinearWork work{.input = input.const_data_ptr<float>(),
                        .grad = grad.const_data_ptr<float>(),
                        .weight = to.data_ptr<float>(),
                        .batch = input.size(0),
                        .in = input.size(1),
                        .out = grad.size(1),
                        .overwrite = overwrite};
  share_rows(work, linear_table(isa).weight_gradient);
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias) {
  if (!takes_direct_gradient(input, weight))
    return at::linear(input, weight, bias);
  return Linear::apply(input, weight, bias);
}

}  // namespace lockstep
