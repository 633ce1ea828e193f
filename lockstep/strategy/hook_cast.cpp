// SPDX-License-Identifier: Apache-2.0
// Gradients in 16 bits: half the bytes, by whichever collective is planned.
// Ranks are added in fp32 and rounded once; what rounding takes is lost, as in
// PyTorch's hooks of these names.
#include <ATen/ATen.h>

#include "lockstep/comm/group.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

class CastHook {
 public:
  CastHook(const HookContext& context, at::ScalarType type)
      : group_(context.group),
        messages_(context.messages),
        buckets_(hook_buckets(context)) {
    for (const HookBucket& bucket : buckets_)
      wire_.push_back(
          at::empty(bucket.grads.sizes(), bucket.grads.options().dtype(type)));
  }

  void start(std::size_t bucket) {
    const at::NoGradGuard no_grad;
    const HookBucket& b = buckets_[bucket];
    wire_[bucket].copy_(b.grads);
    if (error_left_.due())
      error_left_.add(b.grads - wire_[bucket].to(at::kFloat), b.grads);
    messages_.start(b.messages.front(), static_cast<std::int64_t>(bucket),
                    sum_of(b, group_, wire_[bucket]));
  }

  void finish() {
    const at::NoGradGuard no_grad;
    messages_.wait();
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const HookBucket& b = buckets_[i];
      summed(b, group_, b.grads).copy_(summed(b, group_, wire_[i]));
    }
    error_left_.end_send();
  }

  StrategyState save() { return {}; }
  void load(const StrategyState&) {}
  at::Tensor take_back() { return {}; }
  Json account() { return error_left_.account(); }

 private:
  Group& group_;
  Messages& messages_;
  std::vector<HookBucket> buckets_;
  std::vector<at::Tensor> wire_;
  ErrorLeft error_left_;
};

}  // namespace

GradHook make_cast_hook(const HookContext& context, at::ScalarType type) {
  return as_grad_hook(std::make_shared<CastHook>(context, type));
}

}  // namespace lockstep
