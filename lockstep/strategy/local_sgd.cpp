// SPDX-License-Identifier: Apache-2.0
// Each rank trains alone on its share; every local_steps steps, and at the end
// of an epoch, parameters and running statistics are averaged; under a hook the
// parameters' changes are. Post-local: steps before local_start share
// gradients, as ddp does.
#include "lockstep/strategy/local_sgd.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/changes.h"
#include "lockstep/strategy/ddp.h"
#include "lockstep/strategy/hook_parts.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

class LocalSgd final : public Strategy {
 public:
  explicit LocalSgd(const StrategyContext& context)
      : context_(context),
        buffers_(*context.model.module),
        list_(param_list(context.params, *context.model.module)),
        averaging_(plan_of(context.config.strategy.local_start, true)),
        messages_(context.group, context.recorder) {
    if (context.config.strategy.local_start > 0)
      ddp_ = make_ddp(context, &ddp_hook_);
    if (context.config.strategy.hook != HookKind::none)
      changes_.emplace(context, averaging_, messages_);
  }

  const CommPlan& plan() const override { return averaging_; }

  void start() override {
    // What a checkpoint gave each rank is its own.
    if (!loaded_) broadcast_from_0(context_, buffers_);
  }

  void share_out(Optimizer& optimizer) override { optimizer_ = &optimizer; }

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    if (input.step < context_.config.strategy.local_start)
      return ddp_->step(input, optimizer);
    StepInput own = input;
    own.global_samples = 0;
    for (const Batch& pass : input.passes) own.global_samples += pass.samples;
    if (input.step == context_.config.strategy.local_start && changes_)
      changes_->begin();
    StepOutcome outcome = run_passes(context_, own);
    if (input.step == context_.config.strategy.local_start) take_over();
    optimizer.step(input.lr, clip(context_));
    context_.recorder.cut(Span::optim);
    average(plan_of(input.step, input.last));
    return outcome;
  }

  // Every rank's own parameters, statistics and optimiser state: between two
  // averages they differ.
  StrategyState save() override {
    StrategyState out;
    for (const auto& [name, mine] : parts())
      out.tensors.emplace_back(name, all_ranks(mine));
    if (ddp_) put_under(kDdp, ddp_->save(), out);
    if (changes_) changes_->save(out);
    return out;
  }

  // As many ranks as before: each goes on with its own. Else all with the mean.
  void load(const StrategyState& saved) override {
    const at::NoGradGuard no_grad;
    for (auto& [name, mine] : parts()) {
      const auto found = std::ranges::find(
          saved.tensors, name, [](const auto& t) { return t.first; });
      if (found == saved.tensors.end())
        throw Error(Fault::store, "checkpoint",
                    "has no '" + name + "' of each rank",
                    "it was written by another strategy");
      const at::Tensor& all = found->second;  // [ranks, numel]
      mine.copy_(all.size(0) == context_.group.size()
                     ? all[context_.group.rank()]
                     : all.mean(0));
    }
    if (ddp_) ddp_->load(part_under(kDdp, saved));
    if (changes_) changes_->load(saved);
    loaded_ = true;
  }

  Json account() const override {
    if (!changes_) return Json::object();
    return account_of(
        changes_->hook(), context_.config, list_,
        shape_of(context_.config.strategy.local_start, /*last=*/true));
  }

 private:
  static constexpr const char* kDdp = "ddp.";  // names of its state

  StepShape shape_of(std::int64_t step, bool last) const {
    return {.ranks = context_.group.size(),
            .accumulate = context_.config.batch.accumulate,
            .step = step,
            .last = last};
  }

  CommPlan plan_of(std::int64_t step, bool last) const {
    return lockstep::plan(context_.config.strategy, list_,
                          shape_of(step, last));
  }

  // What ddp's hook kept back of the mean gradient goes into this rank's own,
  // which counts for one of so many: nothing is lost.
  void take_over() {
    const at::Tensor kept = ddp_ ? ddp_hook_.take_back() : at::Tensor();
    if (!kept.defined()) return;
    const at::NoGradGuard no_grad;
    context_.params.settle_grads();
    context_.params.grads().add_(kept, parts_of_mean(context_.group));
  }

  void average(const CommPlan& plan) {
    if (plan.empty()) return;
    if (changes_)
      changes_->average();
    else
      average(plan, Payload::parameters, context_.params.values());
    average(plan, Payload::buffers, buffers_.values());
    messages_.wait();
    context_.recorder.cut(Span::exposed_comm);
  }

  void average(const CommPlan& plan, Payload payload, const at::Tensor& mine) {
    const at::NoGradGuard no_grad;
    for (const Message& message : with_payload(plan, payload)) {
      mine.div_(parts_of_mean(context_.group));
      messages_.start(message, 0,
                      {.op = Collective::all_reduce, .tensor = mine});
    }
  }

  std::vector<std::pair<std::string, at::Tensor>> parts() {
    check(optimizer_ != nullptr, "the strategy knows its optimiser");
    auto out = optimizer_->state();
    out.emplace_back("values", context_.params.values());
    if (!buffers_.empty()) out.emplace_back("buffers", buffers_.values());
    return out;
  }

  // Rank 0: [ranks, numel]; undefined elsewhere.
  at::Tensor all_ranks(const at::Tensor& mine) {
    Group& group = context_.group;
    Call call{.op = Collective::gather, .input = mine};
    if (group.rank() == 0)
      call.tensor = mine.expand({group.size(), -1}).contiguous();
    group.run(call);
    return call.tensor;
  }

  StrategyContext context_;
  FlatBuffers buffers_;
  ParamList list_;
  CommPlan averaging_;
  Messages messages_;
  std::unique_ptr<Strategy> ddp_;  // for the steps before local_start
  GradHook ddp_hook_;
  std::optional<Changes> changes_;  // under a hook
  Optimizer* optimizer_ = nullptr;
  bool loaded_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_local_sgd(const StrategyContext& context) {
  return std::make_unique<LocalSgd>(context);
}

}  // namespace lockstep
