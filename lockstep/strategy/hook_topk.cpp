// SPDX-License-Identifier: Apache-2.0
// Each rank sends the largest entries of its gradients, position and value, to
// all, or to the root alone; what it keeps back is added to its next gradients
// (error feedback: Stich, Cordonnier, Jaggi 2018), so nothing is lost, only
// late.
#include <ATen/ATen.h>

#include "lockstep/comm/group.h"
#include "lockstep/plan/hook_plan.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

// Value and position of one entry in 64 bits: [n] int64 as [n, 2] int32.
at::Tensor as_pairs(const at::Tensor& packed) {
  return packed.view(at::kInt).view({-1, 2});
}

class TopKHook {
 public:
  explicit TopKHook(const HookContext& context)
      : group_(context.group),
        messages_(context.messages),
        buckets_(hook_buckets(context)),
        error_(context) {
    for (const HookBucket& b : buckets_) {
      const std::int64_t count = topk_count(context.config, b.grads.numel());
      const auto options = b.grads.options().dtype(at::kLong);
      mine_.push_back(at::empty({count}, options));
      // Zeros: ranks that are only emulated send nothing.
      all_.push_back(hears(b) ? at::zeros({group_.size() * count}, options)
                              : at::Tensor());
    }
  }

  void start(std::size_t bucket) {
    const at::NoGradGuard no_grad;
    const HookBucket& b = buckets_[bucket];
    const at::Tensor kept = error_.of(b).add_(b.grads);
    const at::Tensor whole = error_left_.due() ? kept.clone() : at::Tensor();
    const at::Tensor chosen = std::get<1>(
        at::topk(kept.abs(), mine_[bucket].numel(), -1, /*largest=*/true,
                 /*sorted=*/false));
    const at::Tensor pairs = as_pairs(mine_[bucket]);
    pairs.select(1, 0).copy_(kept.index_select(0, chosen).view(at::kInt));
    pairs.select(1, 1).copy_(chosen);
    kept.index_fill_(0, chosen, 0);
    if (whole.defined()) error_left_.add(kept, whole);
    messages_.start(b.messages.front(), static_cast<std::int64_t>(bucket),
                    {.op = b.messages.front().op,
                     .tensor = all_[bucket],
                     .input = mine_[bucket]});
  }

  void finish() {
    const at::NoGradGuard no_grad;
    messages_.wait();
    for (std::size_t i = 0; i < buckets_.size(); ++i) add_up(i);
    error_left_.end_send();
  }

  StrategyState save() {
    StrategyState state;
    error_.save(state);
    return state;
  }
  void load(const StrategyState& state) { error_.load(state); }
  at::Tensor take_back() { return error_.take(); }
  Json account() { return error_left_.account(); }

 private:
  // Whether everybody's entries come to this rank.
  bool hears(const HookBucket& bucket) const {
    const Message& planned = bucket.messages.front();
    return planned.op == Collective::all_gather ||
           group_.rank() == planned.root;
  }

  // Rank by rank: a rank names a position once, so the order of sums is fixed.
  void add_up(std::size_t bucket) {
    if (!hears(buckets_[bucket])) return;
    const at::Tensor& grads = buckets_[bucket].grads;
    grads.zero_();
    for (const at::Tensor& part : all_[bucket].chunk(group_.size())) {
      const at::Tensor pairs = as_pairs(part);
      grads.index_add_(0, pairs.select(1, 1).to(at::kLong),
                       pairs.select(1, 0).contiguous().view(at::kFloat));
    }
  }

  Group& group_;
  Messages& messages_;
  std::vector<HookBucket> buckets_;
  ErrorFeedback error_;
  // Packed entries: [k], and [ranks * k] where they are heard.
  std::vector<at::Tensor> mine_, all_;
  ErrorLeft error_left_;
};

}  // namespace

GradHook make_topk_hook(const HookContext& context) {
  return as_grad_hook(std::make_shared<TopKHook>(context));
}

}  // namespace lockstep
