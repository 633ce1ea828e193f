// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/changes.h"

#include <ATen/ATen.h>

#include "lockstep/comm/group.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/hook_parts.h"

namespace lockstep {
namespace {

const std::string kPrefix = "changes.";

}  // namespace

Changes::Changes(const StrategyContext& context, const CommPlan& averaging,
                 Messages& messages)
    : params_(context.params),
      parts_(parts_of_mean(context.group)),
      num_buckets_(buckets_in(averaging, Payload::parameters).size()),
      hook_(make_grad_hook(
          hook_context(context, averaging, messages, Payload::parameters))),
      anchor_(at::zeros_like(context.params.values())) {}

void Changes::begin() {
  const at::NoGradGuard no_grad;
  anchor_.copy_(params_.values());
}

void Changes::average() {
  const at::NoGradGuard no_grad;
  at::Tensor changes = params_.grads();
  at::sub_out(changes, params_.values(), anchor_).div_(parts_);
  for (std::size_t b = 0; b < num_buckets_; ++b) hook_.start(b);
  hook_.finish();
  anchor_.add_(changes);
  params_.values().copy_(anchor_);
  params_.zero_grads();
}

void Changes::save(StrategyState& state) {
  StrategyState mine = hook_.save();
  mine.tensors.emplace_back("anchor", anchor_);
  put_under(kPrefix, mine, state);
}

void Changes::load(const StrategyState& state) {
  const at::NoGradGuard no_grad;
  const StrategyState mine = part_under(kPrefix, state);
  hook_.load(mine);
  anchor_.copy_(find_tensor(mine, "anchor"));
}

double parts_of_mean(const Group& group) {
  return group.backend() == "emulated" ? 1 : group.size();
}

}  // namespace lockstep
