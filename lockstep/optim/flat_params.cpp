// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/flat_params.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <unordered_set>

#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/kernels/direct_grad.h"

namespace lockstep {
namespace {

// One-dimensional parameters are the biases and the scales of normalisation.
bool is_norm_or_bias(const at::Tensor& param) { return param.dim() <= 1; }

void check_fits(const std::string& name, const at::Tensor& param,
                const at::Tensor& first) {
  if (param.scalar_type() != at::kFloat)
    throw Error(Fault::internal, name,
                "parameters must be fp32; precision is a matter of autocast");
  if (param.device() != first.device())
    throw Error(Fault::internal, name, "parameters are on two devices");
  if (!param.is_non_overlapping_and_dense())
    throw Error(Fault::internal, name, "parameter does not fill its memory");
}

// A view of the flat buffer with the shape and memory format of `like`.
at::Tensor view_like(const at::Tensor& flat, const Slice& slice,
                     const at::Tensor& like) {
  return flat.as_strided(like.sizes(), like.strides(), slice.begin);
}

at::Tensor flat_zeros(std::int64_t numel, const at::Tensor& like) {
  at::Tensor flat = at::empty({numel}, like.options().requires_grad(false));
  if (flat.is_cpu()) use_huge_pages(flat.data_ptr(), flat.nbytes());
  return flat.zero_();
}

}  // namespace

FlatParams::FlatParams(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  std::int64_t numel = 0;
  std::unordered_set<c10::TensorImpl*> seen;
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& param = item.value();
    if (!seen.insert(param.unsafeGetTensorImpl()).second) continue;
    params_.push_back(param);
    check_fits(item.key(), param, params_.front());
    slices_.push_back({.name = item.key(),
                       .begin = numel,
                       .numel = param.numel(),
                       .norm_or_bias = is_norm_or_bias(param)});
    numel += param.numel();
  }
  check(numel > 0, "a module to train has parameters");
  values_ = flat_zeros(numel, params_.front());
  grads_ = flat_zeros(numel, params_.front());
  for (std::size_t i = 0; i < params_.size(); ++i) {
    at::Tensor& param = params_[i];
    const at::Tensor place = view_like(values_, slices_[i], param);
    place.copy_(param);
    param.set_data(place);
    param.mutable_grad() = view_like(grads_, slices_[i], param);
    if (param.is_cuda() || param.dim() == 2) allow_direct_grad(param);
  }
}

void FlatParams::cast_to_half() {
  const torch::NoGradGuard no_grad;
  if (!half_.defined()) {
    half_ = at::empty_like(values_, values_.options().dtype(at::kBFloat16));
    for (std::size_t i = 0; i < params_.size(); ++i)
      if (DirectGrad* direct = direct_grad_of(params_[i]))
        direct->half = view_like(half_, slices_[i], params_[i]);
  }
  half_.copy_(values_);
}

void FlatParams::zero_grads() {
  grads_.zero_();
  for (const at::Tensor& param : params_)
    if (DirectGrad* direct = direct_grad_of(param)) direct->stale = false;
}

void FlatParams::settle_grads() {
  for (const at::Tensor& param : params_) settle(param);
}

}  // namespace lockstep
