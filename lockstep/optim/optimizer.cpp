// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/optimizer.h"

#include <ATen/ops/empty.h>
#include <torch/types.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/device/device.h"
#include "lockstep/device/memory.h"
#include "lockstep/kernels/direct_grad.h"
#include "lockstep/optim/clip.h"

namespace lockstep {
namespace {

// Neighbouring parameters that are treated alike, updated in one go. One whose
// norm counts stays on its own.
std::vector<UpdateRun> runs_of(const FlatParams& params,
                               const OptimConfig& config) {
  std::vector<UpdateRun> runs;
  for (std::size_t i = 0; i < params.slices().size(); ++i) {
    const Slice& slice = params.slices()[i];
    const DirectGrad* direct = direct_grad_of(params.params()[i]);
    UpdateRun run{.begin = slice.begin, .numel = slice.numel};
    // Without weight decay all are alike: fewer and longer runs.
    run.decay = config.weight_decay != 0 &&
                (config.decay_norm_and_bias || !slice.norm_or_bias);
    run.zero = !(direct && direct->used);
    run.adapt = is_layerwise(config.kind) && !slice.norm_or_bias;
    if (!runs.empty() && !run.adapt && !runs.back().adapt &&
        runs.back().decay == run.decay && runs.back().zero == run.zero)
      runs.back().numel += run.numel;
    else
      runs.push_back(run);
  }
  return runs;
}

// A piece of a run that is this rank's to update, or somebody else's.
struct Part {
  std::int64_t begin = 0, numel = 0, state_begin = 0;
  bool mine = true;
};

std::vector<Part> parts_of(const UpdateRun& run,
                           const std::vector<OwnedRange>& owned) {
  if (owned.empty()) return {{run.begin, run.numel, run.begin, true}};
  std::vector<Part> out;
  std::int64_t at = run.begin;
  const std::int64_t end = run.begin + run.numel;
  for (const OwnedRange& r : owned) {
    const std::int64_t first = std::max(at, r.begin);
    const std::int64_t last = std::min(end, r.begin + r.numel);
    if (first >= last) continue;
    if (first > at) out.push_back({at, first - at, 0, false});
    out.push_back({first, last - first, r.state_begin + first - r.begin, true});
    at = last;
  }
  if (at < end) out.push_back({at, end - at, 0, false});
  return out;
}

// What is the same for every part and step.
UpdateArgs fixed_args(const OptimConfig& config) {
  UpdateArgs args;
  args.momentum = config.momentum, args.nesterov = config.nesterov;
  args.beta1 = config.beta1, args.beta2 = config.beta2, args.eps = config.eps;
  args.decoupled_decay = config.kind == OptimKind::adamw;
  args.trust = {config.trust_coefficient, config.trust_clip};
  return args;
}

void mark_stale(const FlatParams& params) {
  for (const at::Tensor& param : params.params())
    if (DirectGrad* direct = direct_grad_of(param))
      direct->stale = direct->used;
}

at::Tensor state_like(const at::Tensor& values, std::int64_t numel) {
  at::Tensor state = at::empty({numel}, values.options());
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
}

void Optimizer::own(std::vector<OwnedRange> ranges) {
  check(steps_ == 0 && !first_.defined() && !ranges.empty(),
        "parts are shared out before the first step");
  owned_ = std::move(ranges);
}

// Not before it is needed: a rank may be told to keep a part of it only.
void Optimizer::make_state() {
  if (first_.defined()) return;
  const bool two = keeps_square(config_.kind);
  const at::Tensor& values = params_.values();
  const std::int64_t numel =
      owned_.empty() ? values.numel()
                     : owned_.back().state_begin + owned_.back().numel;
  if (two || config_.momentum != 0) first_ = state_like(values, numel);
  if (two) second_ = state_like(values, numel);
}

void Optimizer::step(double lr, double grad_scale) {
  const torch::NoGradGuard no_grad;
  make_state();
  params_.settle_grads();
  ++steps_;
  UpdateArgs args = owned_.empty() ? whole_update() : fixed_args(config_);
  args.lr = lr, args.grad_scale = grad_scale, args.step = steps_;
  owned_.empty() ? update(args) : update_owned(args);
  mark_stale(params_);
}

void Optimizer::update(const UpdateArgs& args) {
  switch (config_.kind) {
    case OptimKind::sgd:
      return device_.sgd(args);
    case OptimKind::adam:
    case OptimKind::adamw:
      return device_.adam(args);
    case OptimKind::lars:
      return device_.lars(args);
    case OptimKind::lamb:
      return device_.lamb(args);
  }
}

// Each part has its state elsewhere, so each is an update of its own.
void Optimizer::update_owned(UpdateArgs args) {
  check(!is_layerwise(config_.kind), "lars and lamb see whole tensors");
  for (const UpdateRun& run : runs_of(params_, config_))
    for (const Part& part : parts_of(run, owned_)) {
      const auto state = [&](const at::Tensor& t) {
        return t.defined() ? t.narrow(0, part.state_begin, part.numel) : t;
      };
      args.grads = params_.grads().narrow(0, part.begin, part.numel);
      if (!part.mine) {
        if (run.zero) args.grads.zero_();
        continue;
      }
      args.values = params_.values().narrow(0, part.begin, part.numel);
      args.first = state(first_), args.second = state(second_);
      args.weight_decay = run.decay ? config_.weight_decay : 0;
      args.zero_grads = run.zero;
      update(args);
    }
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::state() {
  make_state();
  if (keeps_square(config_.kind))
    return {{"exp_avg", first_}, {"exp_avg_sq", second_}};
  if (first_.defined()) return {{"momentum_buffer", first_}};
  return {};
}

// Where it is all updated at once.
UpdateArgs Optimizer::whole_update() const {
  check(owned_.empty(), "a part is updated piece by piece");
  UpdateArgs args = fixed_args(config_);
  args.values = params_.values(), args.grads = params_.grads();
  args.first = first_, args.second = second_;
  args.weight_decay = config_.weight_decay;
  args.step = steps_;
  args.runs = runs_of(params_, config_);
  return args;
}

void Optimizer::begin_step(double lr) {
  make_state();
  if (!rates_.defined())
    rates_ = at::empty({4}, params_.values().options().requires_grad(false));
  ++steps_;
  UpdateArgs args = whole_update();
  args.lr = lr;
  args.rates = rates_;
  device_.put_rates(args);
}

void Optimizer::end_step(double clip_norm) {
  const torch::NoGradGuard no_grad;
  check(rates_.defined(), "a step ends that began");
  params_.settle_grads();
  if (clip_norm > 0) rates_[1].copy_(clip_scale_on_device(params_, clip_norm));
  UpdateArgs args = whole_update();
  args.rates = rates_;
  update(args);
  mark_stale(params_);
}

}  // namespace lockstep
