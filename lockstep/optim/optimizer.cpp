// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/optimizer.h"

#include <ATen/ops/empty_like.h>
#include <torch/types.h>

#include "lockstep/core/error.h"
#include "lockstep/device/device.h"
#include "lockstep/device/memory.h"
#include "lockstep/kernels/direct_grad.h"

namespace lockstep {
namespace {

// Neighbouring parameters that are treated alike, updated in one go.
struct Run {
  std::int64_t begin = 0, numel = 0;
  bool decay = false;  // weight decay applies
  bool zero = false;   // gradients must be zero in memory afterwards
};

std::vector<Run> runs_of(const FlatParams& params, const OptimConfig& config) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < params.slices().size(); ++i) {
    const Slice& slice = params.slices()[i];
    const DirectGrad* direct = direct_grad_of(params.params()[i]);
    // Without weight decay all are alike: fewer and longer runs.
    const bool decay = config.weight_decay != 0 &&
                       (config.decay_norm_and_bias || !slice.norm_or_bias);
    const bool zero = !(direct && direct->used);
    if (!runs.empty() && runs.back().decay == decay && runs.back().zero == zero)
      runs.back().numel += slice.numel;
    else
      runs.push_back({slice.begin, slice.numel, decay, zero});
  }
  return runs;
}

void mark_stale(const FlatParams& params) {
  for (const at::Tensor& param : params.params())
    if (DirectGrad* direct = direct_grad_of(param))
      direct->stale = direct->used;
}

at::Tensor state_like(const at::Tensor& values) {
  at::Tensor state = at::empty_like(values);
  if (state.is_cpu()) use_huge_pages(state.data_ptr(), state.nbytes());
  return state.zero_();
}

void check_settings(const OptimConfig& config) {
  if (config.nesterov && config.momentum == 0)
    throw Error(Fault::config, "optim.nesterov",
                "looks ahead along a momentum that is 0",
                "set optim.momentum, 0.9 for instance");
}

}  // namespace

Optimizer::Optimizer(const OptimConfig& config, FlatParams& params,
                     Device& device)
    : config_(config), params_(params), device_(device) {
  check_settings(config);
  const bool adam = config.kind != OptimKind::sgd;
  if (adam || config.momentum != 0) first_ = state_like(params.values());
  if (adam) second_ = state_like(params.values());
}

void Optimizer::step(double lr, double grad_scale) {
  const torch::NoGradGuard no_grad;
  params_.settle_grads();
  ++steps_;
  for (const Run& run : runs_of(params_, config_)) {
    const auto part = [&](const at::Tensor& flat) {
      return flat.defined() ? flat.narrow(0, run.begin, run.numel) : flat;
    };
    const UpdateArgs args{.values = part(params_.values()),
                          .grads = part(params_.grads()),
                          .first = part(first_),
                          .second = part(second_),
                          .lr = lr,
                          .weight_decay = run.decay ? config_.weight_decay : 0,
                          .grad_scale = grad_scale,
                          .momentum = config_.momentum,
                          .nesterov = config_.nesterov,
                          .beta1 = config_.beta1,
                          .beta2 = config_.beta2,
                          .eps = config_.eps,
                          .decoupled_decay = config_.kind == OptimKind::adamw,
                          .step = steps_,
                          .zero_grads = run.zero};
    config_.kind == OptimKind::sgd ? device_.sgd(args) : device_.adam(args);
  }
  mark_stale(params_);
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::state() {
  if (config_.kind != OptimKind::sgd)
    return {{"exp_avg", first_}, {"exp_avg_sq", second_}};
  if (first_.defined()) return {{"momentum_buffer", first_}};
  return {};
}

}  // namespace lockstep
