// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/layerwise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lockstep/kernels/direct_grad.h"
#include "lockstep/kernels/update.h"

namespace lockstep {
namespace {

UpdateSpan span_of(const FlatParams& params, const LayerStep& step,
                   const LayerRun& run) {
  const auto at = [&](const at::Tensor& flat) {
    return flat.defined() ? flat.data_ptr<float>() + run.begin : nullptr;
  };
  return {at(params.values()), at(params.grads()), at(step.first),
          at(step.second), run.numel};
}

void lars_run(const OptimConfig& c, const LayerStep& step, const LayerRun& run,
              const UpdateSpan& span) {
  double trust = 1;
  if (run.adapt)
    trust = lars_trust(c, step.lr, norm_of(span.values, span.numel),
                       norm_of(span.grads, span.numel) * step.grad_scale,
                       run.weight_decay);
  // What LARS adds to SGD is one factor of gradient and decay.
  sgd_update(span,
             {.lr = static_cast<float>(step.lr),
              .weight_decay = static_cast<float>(trust * run.weight_decay),
              .momentum = static_cast<float>(c.momentum),
              .grad_scale = static_cast<float>(trust * step.grad_scale),
              .nesterov = c.nesterov,
              .zero_grads = run.zero});
}

void lamb_run(const OptimConfig& c, const LayerStep& step, const LayerRun& run,
              const UpdateSpan& span) {
  const auto n = static_cast<double>(step.step);
  const LambRule rule{
      .inverse_bias1 = static_cast<float>(1 / (1 - std::pow(c.beta1, n))),
      .inverse_root_bias =
          static_cast<float>(1 / std::sqrt(1 - std::pow(c.beta2, n))),
      .take1 = static_cast<float>(1 - c.beta1),
      .beta2 = static_cast<float>(c.beta2),
      .take2 = static_cast<float>(1 - c.beta2),
      .eps = static_cast<float>(c.eps),
      .grad_scale = static_cast<float>(step.grad_scale),
      .weight_decay = static_cast<float>(run.weight_decay),
      .zero_grads = run.zero};
  const double length = lamb_moments(span, rule);
  const double trust =
      run.adapt ? lamb_trust(c, norm_of(span.values, span.numel), length) : 1;
  lamb_apply(span, rule, step.lr * trust);
}

at::Tensor or_one(const at::Tensor& trust, const at::Tensor& a,
                  const at::Tensor& b, const at::Tensor& adapt) {
  return at::where(a.gt(0).logical_and(b.gt(0)).logical_and(adapt), trust,
                   at::ones_like(trust));
}

}  // namespace

double lars_trust(const OptimConfig& c, double lr, double values,
                  double gradient, double weight_decay) {
  if (values == 0 || gradient == 0) return 1;
  const double trust =
      c.trust_coefficient * values / (gradient + weight_decay * values + c.eps);
  return c.trust_clip ? std::min(trust / lr, 1.0) : trust;
}

double lamb_trust(const OptimConfig& c, double values, double step) {
  if (values == 0 || step == 0) return 1;
  return c.trust_clip ? std::min(values / step, 1.0) : values / step;
}

Layerwise::Layerwise(const OptimConfig& config, FlatParams& params)
    : config_(config), params_(params) {
  std::vector<std::int64_t> counts;
  std::vector<float> adapt, decay;
  for (const LayerRun& run : runs()) {
    counts.push_back(run.numel);
    adapt.push_back(run.adapt ? 1 : 0);
    decay.push_back(static_cast<float>(run.weight_decay));
  }
  const auto device = params.values().device();
  counts_ = at::tensor(counts).to(device);
  adapt_ = at::tensor(adapt).to(device).gt(0);
  decay_ = at::tensor(decay).to(device);
}

std::vector<LayerRun> Layerwise::runs() const {
  std::vector<LayerRun> out;
  for (std::size_t i = 0; i < params_.slices().size(); ++i) {
    const Slice& slice = params_.slices()[i];
    const DirectGrad* direct = direct_grad_of(params_.params()[i]);
    const bool decay = config_.decay_norm_and_bias || !slice.norm_or_bias;
    out.push_back({.begin = slice.begin,
                   .numel = slice.numel,
                   .weight_decay = decay ? config_.weight_decay : 0,
                   .adapt = !slice.norm_or_bias,
                   .zero = !(direct && direct->used)});
  }
  return out;
}

void Layerwise::step(const LayerStep& step) {
  if (!params_.values().is_cpu()) return step_plain(step);
  for (const LayerRun& run : runs()) {
    const UpdateSpan span = span_of(params_, step, run);
    config_.kind == OptimKind::lars ? lars_run(config_, step, run, span)
                                    : lamb_run(config_, step, run, span);
  }
}

void Layerwise::step_plain(const LayerStep& step) {
  const at::Tensor grads = params_.grads() * step.grad_scale;
  config_.kind == OptimKind::lars ? lars_plain(step, grads)
                                  : lamb_plain(step, grads);
  params_.grads().zero_();
}

at::Tensor Layerwise::norms_of(const at::Tensor& flat) const {
  std::vector<at::Tensor> norms;
  for (const Slice& s : params_.slices())
    norms.push_back(at::linalg_vector_norm(flat.narrow(0, s.begin, s.numel)));
  return at::stack(norms);
}

at::Tensor Layerwise::spread(const at::Tensor& of_tensor) const {
  return of_tensor.repeat_interleave(counts_, 0, params_.values().numel());
}

void Layerwise::lars_plain(const LayerStep& step, const at::Tensor& grads) {
  const OptimConfig& c = config_;
  const at::Tensor norms = norms_of(params_.values());
  const at::Tensor steep = norms_of(grads);
  at::Tensor trust =
      norms * c.trust_coefficient / (steep + decay_ * norms + c.eps);
  if (c.trust_clip) trust = (trust / step.lr).clamp_max(1);
  const at::Tensor d = (grads + spread(decay_) * params_.values()) *
                       spread(or_one(trust, norms, steep, adapt_));
  at::Tensor move = d;
  if (step.first.defined()) {
    step.first.mul_(c.momentum).add_(d);
    move = c.nesterov ? d + c.momentum * step.first : step.first;
  }
  params_.values().sub_(move, step.lr);
}

void Layerwise::lamb_plain(const LayerStep& step, const at::Tensor& grads) {
  const OptimConfig& c = config_;
  const auto n = static_cast<double>(step.step);
  step.first.lerp_(grads, 1 - c.beta1);
  step.second.mul_(c.beta2).addcmul_(grads, grads, 1 - c.beta2);
  const at::Tensor root =
      (step.second / (1 - std::pow(c.beta2, n))).sqrt() + c.eps;
  const at::Tensor move = step.first / (1 - std::pow(c.beta1, n)) / root +
                          spread(decay_) * params_.values();
  const at::Tensor norms = norms_of(params_.values());
  const at::Tensor length = norms_of(move);
  at::Tensor trust = norms / length;
  if (c.trust_clip) trust = trust.clamp_max(1);
  params_.values().sub_(move * spread(or_one(trust, norms, length, adapt_)),
                        step.lr);
}

}  // namespace lockstep
