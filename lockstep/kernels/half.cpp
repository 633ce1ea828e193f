// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/half.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/_unsafe_view.h>
#include <ATen/ops/sum.h>

#include <vector>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/gpu_table.h"

namespace lockstep {

namespace {

bool is_cast(const at::Tensor& x, const at::Tensor& weight) {
  return x.is_cuda() && at::autocast::is_autocast_enabled(at::kCUDA) &&
         at::autocast::get_autocast_dtype(at::kCUDA) == at::kBFloat16 &&
         weight.scalar_type() == at::kFloat && weight.device() == x.device();
}

}  // namespace

bool takes_half(const at::Tensor& x, const at::Tensor& parameter) {
  return is_cast(x, parameter) && at::GradMode::is_enabled() &&
         parameter.requires_grad() && direct_grad_of(parameter) != nullptr &&
         parameter.grad().defined();
}

bool takes_fixed_half(const at::Tensor& x, const at::Tensor& weight) {
  return is_cast(x, weight) && !weight.requires_grad();
}

at::Tensor half_of(const at::Tensor& parameter) {
  const DirectGrad* direct = direct_grad_of(parameter);
  return direct && direct->half.defined()
             ? direct->half
             : parameter.detach().to(at::kBFloat16);
}

at::Tensor half_rows(const at::Tensor& x) {
  return x.to(at::kBFloat16).reshape({-1, x.size(-1)}).contiguous();
}

at::Tensor shaped(const at::Tensor& rows, const at::Tensor& like) {
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes.back() = rows.size(1);
  return at::_unsafe_view(rows, sizes);
}

at::Tensor half_bias_grad(const at::Tensor& rows, const at::Tensor& bias) {
  at::Tensor to = begin_grad(bias);
  const auto has = gpu_table().has_half_column_sums;
  if (has != nullptr && has(rows))
    gpu_table().half_column_sums(rows, to);
  else
    at::sum_out(to, rows, {0}, /*keepdim=*/false, at::kFloat);
  return end_grad(bias, to);
}

}  // namespace lockstep
