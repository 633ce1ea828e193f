// SPDX-License-Identifier: Apache-2.0
// Every rank has a replica and a share of the batch; gradients are summed in
// buckets that leave while backward goes on. Each rank weighs its loss by its
// share of the global batch, so the sum is the mean, exact for uneven shares.
#include "lockstep/strategy/ddp.h"

#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/buckets.h"
#include "lockstep/strategy/grad_hook.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/strategy/step_graph.h"

namespace lockstep {
namespace {

class Ddp final : public Strategy {
 public:
  explicit Ddp(const StrategyContext& context)
      : context_(context),
        buffers_(*context.model.module),
        list_(param_list(context.params, *context.model.module)),
        shape_{.ranks = context.group.size(),
               .accumulate = context.config.batch.accumulate},
        plan_(lockstep::plan(context.config.strategy, list_, shape_)),
        messages_(context.group, context.recorder),
        hook_(make_grad_hook(hook_context(context, plan_, messages_))),
        buckets_(context.params, buckets_in(plan_),
                 [this](std::size_t bucket) {
                   graph_.beside([this, bucket] { send_bucket(bucket); });
                 }),
        graph_(context, [this](const StepInput& input, StepOutcome& outcome) {
          return pieces(input, outcome);
        }) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override { broadcast_from_0(context_, buffers_); }

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    norms_ = input.norms;
    if (!graph_.captures()) return plain_step(input, optimizer);
    optimizer_ = &optimizer;
    optimizer.begin_step(input.lr);
    return graph_.step(input);
  }

  Json notes() const override { return graph_.notes(); }

  StrategyState save() override { return hook_.save(); }
  void load(const StrategyState& state) override { hook_.load(state); }

  Json account() const override {
    return account_of(hook_, context_.config, list_, shape_);
  }

  const GradHook& hook() const { return hook_; }

 private:
  StepOutcome plain_step(const StepInput& input, Optimizer& optimizer) {
    send_buffers(context_, buffers_, plan_, messages_);
    StepOutcome outcome = run_passes(context_, input, buckets_);
    hook_.finish();
    context_.recorder.cut(Span::exposed_comm);
    if (norms_) norms_->add_whole(context_.params.grads());
    optimizer.step(input.lr, clip(context_));
    context_.recorder.cut(Span::optim);
    graph_.count_plain_step();
    return outcome;
  }

  // Buckets leave between recorded parts of backward.
  std::vector<GraphPiece> pieces(const StepInput& input, StepOutcome& outcome) {
    std::vector<GraphPiece> out =
        pass_pieces(context_, input, outcome, [this] { buckets_.arm(); });
    out.insert(out.begin(),
               {Span::exposed_comm,
                [this] { send_buffers(context_, buffers_, plan_, messages_); },
                /*by_host=*/true});
    out.push_back({Span::backward, [this] { buckets_.finish(); }});
    out.push_back(
        {Span::exposed_comm, [this] { hook_.finish(); }, /*by_host=*/true});
    if (input.norms)
      out.push_back({Span::optim,
                     [&] {
                       note_sent(input);
                       norms_->add_whole(context_.params.grads());
                     },
                     /*by_host=*/true});
    out.push_back({Span::optim, [this] {
                     optimizer_->end_step(context_.config.train.clip_norm);
                   }});
    return out;
  }

  void send_bucket(std::size_t bucket) {
    if (norms_ && context_.group.size() > 1)
      norms_->add_sent(buckets_.grads(bucket));
    hook_.start(bucket);
  }

  StrategyContext context_;
  FlatBuffers buffers_;
  ParamList list_;
  StepShape shape_;
  CommPlan plan_;
  Messages messages_;
  GradHook hook_;
  Buckets buckets_;
  StepGraph graph_;
  Optimizer* optimizer_ = nullptr;  // of the step under way
  GradNorms* norms_ = nullptr;      // of the step under way
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyContext& context,
                                   GradHook* hook) {
  auto out = std::make_unique<Ddp>(context);
  if (hook != nullptr) *hook = out->hook();
  return out;
}

}  // namespace lockstep
