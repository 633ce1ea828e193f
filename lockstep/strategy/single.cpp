// SPDX-License-Identifier: Apache-2.0
// One replica, nothing to send: the step in its plainest form, and on a device
// that captures the same step as pieces to record and replay.
#include "lockstep/strategy/single.h"

#include <ATen/ATen.h>

#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/strategy/step_graph.h"

namespace lockstep {
namespace {

class Single final : public Strategy {
 public:
  explicit Single(const StrategyContext& context)
      : context_(context),
        graph_(context, [this](const StepInput& input, StepOutcome& outcome) {
          return pieces(input, outcome);
        }) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override {}

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    if (!graph_.captures()) return plain_step(input, optimizer);
    optimizer_ = &optimizer;
    optimizer.begin_step(input.lr);
    return graph_.step(input);
  }

  Json notes() const override { return graph_.notes(); }

 private:
  StepOutcome plain_step(const StepInput& input, Optimizer& optimizer) {
    StepOutcome outcome = run_passes(context_, input);
    if (input.norms) input.norms->add_whole(context_.params.grads());
    optimizer.step(input.lr, clip(context_));
    context_.recorder.cut(Span::optim);
    graph_.count_plain_step();
    return outcome;
  }

  std::vector<GraphPiece> pieces(const StepInput& input, StepOutcome& outcome) {
    std::vector<GraphPiece> out = pass_pieces(context_, input, outcome, {});
    if (input.norms)
      out.push_back({Span::backward,
                     [&] { input.norms->add_whole(context_.params.grads()); },
                     /*by_host=*/true});
    out.push_back({Span::optim, [this] {
                     optimizer_->end_step(context_.config.train.clip_norm);
                   }});
    return out;
  }

  StrategyContext context_;
  CommPlan plan_;
  StepGraph graph_;
  Optimizer* optimizer_ = nullptr;  // of the step under way
};

}  // namespace

std::unique_ptr<Strategy> make_single(const StrategyContext& context) {
  return std::make_unique<Single>(context);
}

}  // namespace lockstep
