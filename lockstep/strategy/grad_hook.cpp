// SPDX-License-Identifier: Apache-2.0
// The list of gradient hooks, and the plainest: gradients travel as they are.
#include "lockstep/strategy/grad_hook.h"

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

class PlainHook {
 public:
  explicit PlainHook(const HookContext& context)
      : messages_(context.messages), buckets_(hook_buckets(context)) {}

  void start(std::size_t bucket) {
    const HookBucket& b = buckets_[bucket];
    messages_.start(b.messages.front(), static_cast<std::int64_t>(bucket),
                    {.op = Collective::all_reduce, .tensor = b.grads});
  }
  void finish() { messages_.wait(); }
  StrategyState save() { return {}; }
  void load(const StrategyState&) {}
  Json account() { return Json::object(); }

 private:
  Messages& messages_;
  std::vector<HookBucket> buckets_;
};

}  // namespace

GradHook make_grad_hook(const HookContext& context) {
  switch (context.config.hook) {
    case HookKind::none:
      return as_grad_hook(std::make_shared<PlainHook>(context));
    case HookKind::bf16:
      return make_cast_hook(context, at::kBFloat16);
    case HookKind::fp16:
      return make_cast_hook(context, at::kHalf);
    case HookKind::topk:
      return make_topk_hook(context);
    case HookKind::powersgd:
      return make_powersgd_hook(context);
  }
  throw Error(Fault::internal, "strategy.hook", "not a hook");
}

std::vector<Message> buckets_in(const CommPlan& plan) {
  std::vector<Message> out;
  for (const Message& message : with_payload(plan, Payload::gradients))
    if (message.phase == Phase::backward) out.push_back(message);
  return out;
}

}  // namespace lockstep
