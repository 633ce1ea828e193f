// SPDX-License-Identifier: Apache-2.0
// One replica, nothing to send: the step in its plainest form.
#include "lockstep/strategy/single.h"

#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

class Single final : public Strategy {
 public:
  explicit Single(const StrategyContext& context) : context_(context) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override {}

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    StepOutcome outcome = run_passes(context_, input);
    if (input.norms) input.norms->add_whole(context_.params.grads());
    optimizer.step(input.lr, clip(context_));
    context_.recorder.cut(Span::optim);
    return outcome;
  }

 private:
  StrategyContext context_;
  CommPlan plan_;
};

}  // namespace

std::unique_ptr<Strategy> make_single(const StrategyContext& context) {
  return std::make_unique<Single>(context);
}

}  // namespace lockstep
