// SPDX-License-Identifier: Apache-2.0
// What the gradient hooks share: buckets as a hook sees them, errors kept back
// for the next step, and the tally of what was left out.
#pragma once

#include <ATen/core/Tensor.h>

#include "lockstep/comm/group.h"
#include "lockstep/strategy/grad_hook.h"

namespace lockstep {

struct HookBucket {
  at::Tensor grads;                 // [numel], a range of the flat gradients
  std::int64_t begin = 0;           // of the range
  std::vector<std::size_t> params;  // in the order of the plan
  std::vector<Message> messages;    // planned, in the order they start
};
std::vector<HookBucket> hook_buckets(const HookContext& context);

// The bucket's first message: the sum over ranks of `whole`, which is as long
// as the bucket and is changed in place.
Call sum_of(const HookBucket& bucket, const Group& group,
            const at::Tensor& whole);
// Where in `whole` the sum then is: a reduce-scatter leaves each rank its
// share.
at::Tensor summed(const HookBucket& bucket, const Group& group,
                  const at::Tensor& whole);

// Error{Fault::store} when the checkpoint does not have it.
const at::Tensor& find_tensor(const StrategyState& state,
                              const std::string& name);

// Another state's tensors under a prefix of their own, and back.
void put_under(const std::string& prefix, const StrategyState& part,
               StrategyState& state);
StrategyState part_under(const std::string& prefix, const StrategyState& state);

// What a rank did not send and adds to its next gradients. Ranks differ.
class ErrorFeedback {
 public:
  explicit ErrorFeedback(const HookContext& context);

  at::Tensor of(const HookBucket& bucket) const;  // [numel], a view

  // Collective. At another number of ranks the sum is shared out evenly:
  // nothing that was kept back is lost.
  void save(StrategyState& state) const;
  void load(const StrategyState& state);

  at::Tensor take();  // [numel of the model]; nothing is kept back any more

 private:
  Group& group_;
  at::Tensor values_;  // [numel of the model]
};

// Norms cost a pass over the gradients, so they are taken every so many times.
class ErrorLeft {
 public:
  static constexpr std::int64_t kEvery = 16;

  bool due() const { return sends_ % kEvery == 0; }
  // Of one bucket: what the message leaves out, of what.
  void add(const at::Tensor& left, const at::Tensor& whole);
  void end_send();  // of all buckets
  Json account() const;

 private:
  std::int64_t sends_ = 0, num_measured_ = 0;
  at::Tensor left_, whole_;  // sums of squares of the current send
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
          .take_back = [hook] { return hook->take_back(); },
          .account = [hook] { return hook->account(); }};
}

}  // namespace lockstep
