// SPDX-License-Identifier: Apache-2.0
// One replica, nothing to send: the step in its plainest form.
#include "lockstep/strategy/single.h"

#include <ATen/ATen.h>

#include "lockstep/measure/recorder.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

class Single final : public Strategy {
 public:
  explicit Single(const StrategyContext& context) : context_(context) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override {}

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    StepOutcome outcome;
    for (const Batch& pass : input.passes) {
      const double share = static_cast<double>(pass.samples) /
                           static_cast<double>(input.global_samples);
      const at::Tensor logits =
          forward(context_.model, pass.inputs, context_.config.train);
      const at::Tensor loss =
          loss_of(logits, pass.targets, context_.config.train.label_smoothing);
      add(outcome, loss, count_correct(logits, pass.targets), pass.samples);
      context_.recorder.cut(Span::forward);
      // A whole batch needs no weight, and 1.0 * x is not free.
      (share == 1.0 ? loss : loss * share).backward();
      context_.recorder.cut(Span::backward);
    }
    optimizer.step(input.lr, clip(context_));
    context_.recorder.cut(Span::optim);
    return outcome;
  }

 private:
  static void add(StepOutcome& outcome, const at::Tensor& loss,
                  const at::Tensor& correct, std::int64_t samples) {
    const at::Tensor sum = loss.detach() * static_cast<double>(samples);
    outcome.loss_sum =
        outcome.loss_sum.defined() ? outcome.loss_sum + sum : sum;
    outcome.correct =
        outcome.correct.defined() ? outcome.correct + correct : correct;
  }

  StrategyContext context_;
  CommPlan plan_;
};

}  // namespace

std::unique_ptr<Strategy> make_single(const StrategyContext& context) {
  return std::make_unique<Single>(context);
}

}  // namespace lockstep
