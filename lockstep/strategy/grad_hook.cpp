// SPDX-License-Identifier: Apache-2.0
// The list of gradient hooks, and the plainest: gradients travel as they are.
#include "lockstep/strategy/grad_hook.h"

#include <algorithm>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

class PlainHook {
 public:
  explicit PlainHook(const HookContext& context)
      : group_(context.group),
        messages_(context.messages),
        buckets_(hook_buckets(context)) {}

  void start(std::size_t bucket) {
    const HookBucket& b = buckets_[bucket];
    messages_.start(b.messages.front(), static_cast<std::int64_t>(bucket),
                    sum_of(b, group_, b.grads));
  }
  void finish() { messages_.wait(); }
  StrategyState save() { return {}; }
  void load(const StrategyState&) {}
  at::Tensor take_back() { return {}; }
  Json account() { return Json::object(); }

 private:
  Group& group_;
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

HookContext hook_context(const StrategyContext& context, const CommPlan& plan,
                         Messages& messages, Payload payload) {
  return {.config = context.config.strategy,
          .plan = plan,
          .params = context.params,
          .group = context.group,
          .messages = messages,
          .seed = static_cast<std::uint64_t>(context.config.train.seed),
          .payload = payload};
}

std::vector<Message> buckets_in(const CommPlan& plan, Payload payload) {
  std::vector<Message> out;
  for (Message& message : with_payload(plan, payload))
    if (std::ranges::find(out, message.params, &Message::params) == out.end())
      out.push_back(std::move(message));
  return out;
}

Json account_of(const GradHook& hook, const RunConfig& config,
                const ParamList& params, const StepShape& shape) {
  StrategyConfig plain = config.strategy;
  plain.hook = HookKind::none;
  if (config.strategy.hook == HookKind::none) return Json::object();
  Json out = hook.account();
  out["kind"] = word(config, "strategy.hook");
  out["bytes_saved_a_step"] = bytes_of(plan(plain, params, shape)) -
                              bytes_of(plan(config.strategy, params, shape));
  return Json{{"hook", out}};
}

}  // namespace lockstep
