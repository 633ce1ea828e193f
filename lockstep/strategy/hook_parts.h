// SPDX-License-Identifier: Apache-2.0
// What the gradient hooks share: buckets as a hook sees them, errors kept back
// for the next step, and the tally of what was left out.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/strategy/grad_hook.h"

namespace lockstep {

struct HookBucket {
  at::Tensor grads;                 // [numel], a range of the flat gradients
  std::int64_t begin = 0;           // of the range
  std::vector<std::size_t> params;  // from the last to the first
  std::vector<Message> messages;    // planned, in the order they start
};
std::vector<HookBucket> hook_buckets(const HookContext& context);

// Error{Fault::store} when the checkpoint does not have it.
const at::Tensor& find_tensor(const StrategyState& state,
                              const std::string& name);

// What a rank did not send and adds to its next gradients. Ranks differ.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(const HookContext& context);

  at::Tensor of(const HookBucket& bucket) const;  // [numel], a view

  // Collective. At another number of ranks the sum is shared out evenly:
  // nothing that was kept back is lost.
  void save(StrategyState& state) const;
  void load(const StrategyState& state);

 private:
  Group& group_;
  at::Tensor values_;  // [numel of the model]
};

// Norms cost a pass over the gradients, so they are taken every so many steps.
class ErrorLeft {
 public:
  static constexpr std::int64_t kEvery = 16;

  bool due() const { return step_ % kEvery == 0; }
  // Of one bucket: what the message leaves out, of what.
  void add(const at::Tensor& left, const at::Tensor& whole);
  void end_step();
  Json account() const;

 private:
  std::int64_t step_ = 0, num_measured_ = 0;
  at::Tensor left_, whole_;  // sums of squares of the current step
  at::Tensor sum_, last_;    // of relative norms
};

GradHook make_cast_hook(const HookContext& context, at::ScalarType type);
GradHook make_topk_hook(const HookContext& context);
GradHook make_powersgd_hook(const HookContext& context);

// The functions of an object that lives as long as they do.
template <class Hook>
GradHook as_grad_hook(const std::shared_ptr<Hook>& hook) {
  return {.start = [hook](std::size_t bucket) { hook->start(bucket); },
          .finish = [hook] { hook->finish(); },
          .save = [hook] { return hook->save(); },
          .load = [hook](const StrategyState& state) { hook->load(state); },
          .account = [hook] { return hook->account(); }};
}

}  // namespace lockstep
