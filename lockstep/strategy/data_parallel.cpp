// SPDX-License-Identifier: Apache-2.0
// One process, a replica a device, device 0 in the middle. Each pass is the
// eight steps of torch.nn.DataParallel: scatter, replicate, forward, gather,
// loss, scatter of the loss's gradients, backward, reduce. The modules stay;
// parameters and running statistics travel to them in every pass.
#include "lockstep/strategy/data_parallel.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/grad_hook.h"
#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/param_list.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

std::int64_t sample_bytes(const at::Tensor& batch) {
  std::int64_t numel = 1;
  for (const std::int64_t n : batch.sizes().slice(1)) numel *= n;
  return numel * static_cast<std::int64_t>(batch.element_size());
}

// A full step of the settings' model, for plan(); each step plans its own.
StepShape full_step(const StrategyContext& context) {
  const RunConfig& config = context.config;
  const std::int64_t ranks = context.group.size();
  const std::int64_t passes = config.batch.accumulate;
  const WorkPlan work = plan_work(config.model);
  return {.ranks = ranks,
          .samples = config.batch.global > 0
                         ? config.batch.global
                         : config.batch.per_rank * ranks * passes,
          .accumulate = passes,
          .input_bytes = numel(work.input) * (work.tokens ? 8 : 4),
          .output_bytes = numel(work.layers.back().output) * 4};
}

class DataParallel final : public Strategy {
 public:
  explicit DataParallel(const StrategyContext& context)
      : context_(context),
        group_(context.group),
        buffers_(*context.model.module),
        list_(param_list(context.params, *context.model.module)),
        full_(full_step(context)),
        plan_(lockstep::plan(context.config.strategy, list_, full_)),
        messages_(context.group, context.recorder),
        hook_(make_grad_hook(hook_context(context, plan_, messages_))) {}

  const CommPlan& plan() const override { return plan_; }
  void start() override { sync(); }

  StepOutcome step(const StepInput& input, Optimizer& optimizer) override {
    StepOutcome outcome;
    for (std::size_t i = 0; i < input.passes.size(); ++i) {
      const auto pass = static_cast<std::int64_t>(i);
      run_pass(input, pass, outcome);
      // What a replica sent is the root's now.
      if (!root()) context_.params.zero_grads();
    }
    if (root()) optimizer.step(input.lr, clip(context_));
    cut(Span::optim);
    return outcome;
  }

  void sync() override { broadcast_from_0(context_, buffers_); }

  StrategyState save() override { return hook_.save(); }
  void load(const StrategyState& state) override { hook_.load(state); }
  Json account() const override {
    return account_of(hook_, context_.config, list_, full_);
  }

 private:
  // One pass under way.
  struct Pass {
    const Batch& batch;  // the whole of it at the root
    CommPlan plan = {};  // of the step
    std::int64_t index = 0, samples = 0, own = 0;
  };

  bool root() const { return group_.rank() == 0; }
  void cut(Span span) { context_.recorder.cut(span); }

  void run_pass(const StepInput& input, std::int64_t index,
                StepOutcome& outcome) {
    const Pass pass = begin(input, index);
    if (pass.samples == 0) return;
    const at::Tensor inputs = scatter_inputs(pass);
    cut(Span::dp_scatter);
    replicate(pass);
    cut(Span::dp_replicate);
    const at::Tensor logits = forward_own(pass, inputs);
    cut(Span::dp_forward);
    const at::Tensor all = gather_logits(pass, logits);
    cut(Span::dp_gather);
    const at::Tensor all_grads = loss_grads(pass, all, input, outcome);
    cut(Span::dp_loss);
    const at::Tensor grads = scatter_grads(pass, logits, all_grads);
    cut(Span::dp_loss_scatter);
    put_aside(pass);
    if (logits.requires_grad()) logits.backward(grads);
    cut(Span::dp_backward);
    reduce();
    cut(Span::dp_reduce);
  }

  Pass begin(const StepInput& input, std::int64_t index) {
    const Batch& batch = input.passes[static_cast<std::size_t>(index)];
    const auto passes = static_cast<std::int64_t>(input.passes.size());
    StepShape shape = full_;
    shape.samples = input.global_samples;
    shape.accumulate = passes;
    Pass out{.batch = batch, .index = index};
    out.samples = share_of(input.global_samples, passes, index);
    out.own = share_of(out.samples, group_.size(), group_.rank());
    if (sample_bytes(batch.inputs) != shape.input_bytes)
      throw Error(
          Fault::config, "strategy.kind",
          fmt::format("data_parallel plans what it sends from the model "
                      "section: {} bytes a sample, not {}",
                      shape.input_bytes, sample_bytes(batch.inputs)),
          "train a module of your own with ddp");
    check(batch.samples == (root() ? out.samples : 0),
          "device 0 holds the whole batch");
    out.plan = lockstep::plan(context_.config.strategy, list_, shape);
    return out;
  }

  const Message& planned(const Pass& pass, Collective op, Payload payload) {
    const auto found = std::ranges::find_if(pass.plan, [&](const Message& m) {
      return m.pass == pass.index && m.op == op && m.payload == payload;
    });
    check(found != pass.plan.end(), "every message of a pass is planned");
    return *found;
  }

  // A message in which every replica has its share of the batch's rows.
  void move_rows(const Pass& pass, Collective op, Payload payload,
                 const at::Tensor& tensor, const at::Tensor& input) {
    const Message& message = planned(pass, op, payload);
    const at::Tensor& known = input.defined() ? input : tensor;
    const std::int64_t row = message.bytes / pass.samples /
                             static_cast<std::int64_t>(known.element_size());
    Call call{.op = op};
    if (tensor.defined()) call.tensor = tensor.view({-1});
    if (input.defined()) call.input = input.view({-1});
    for (std::int64_t r = 0; r < group_.size(); ++r)
      call.shares.push_back(row * share_of(pass.samples, group_.size(), r));
    messages_.start(message, 0, call);
    messages_.wait();
  }

  at::Tensor scatter_inputs(const Pass& pass) {
    const at::Tensor all = pass.batch.inputs.contiguous();
    const at::Tensor own =
        root() ? all.narrow(0, 0, pass.own) : rows_like(all, pass.own);
    move_rows(pass, Collective::scatter, Payload::inputs, own,
              root() ? all : at::Tensor());
    return own;
  }

  void replicate(const Pass& pass) {
    if (!buffers_.empty()) broadcast(pass, Payload::buffers, buffers_.values());
    broadcast(pass, Payload::parameters, context_.params.values());
  }

  void broadcast(const Pass& pass, Payload payload, const at::Tensor& values) {
    const at::NoGradGuard no_grad;
    messages_.start(planned(pass, Collective::broadcast, payload), 0,
                    {.op = Collective::broadcast, .tensor = values});
    messages_.wait();
  }

  // Logits of the own share. A replica without samples runs no pass, unless
  // others wait for its statistics.
  at::Tensor forward_own(const Pass& pass, const at::Tensor& inputs) {
    const RunConfig& config = context_.config;
    if (pass.own == 0 && !config.strategy.sync_batchnorm)
      return at::empty({0}, context_.params.values().options());
    const bool images = config.train.channels_last && inputs.dim() == 4;
    return forward(
        context_.model,
        images ? inputs.contiguous(at::MemoryFormat::ChannelsLast) : inputs,
        config.train);
  }

  at::Tensor gather_logits(const Pass& pass, const at::Tensor& logits) {
    const at::Tensor own = logits.detach().contiguous();
    const at::Tensor all = root() ? rows_like(own, pass.samples) : at::Tensor();
    move_rows(pass, Collective::gather, Payload::outputs, all, own);
    return all;
  }

  // At the root, which has the targets: the loss of the whole batch, and its
  // gradient for each logit.
  at::Tensor loss_grads(const Pass& pass, const at::Tensor& all,
                        const StepInput& input, StepOutcome& outcome) {
    if (!root()) return {};
    const at::Tensor& logits = all.requires_grad_();
    const double samples = static_cast<double>(pass.samples);
    const at::Tensor loss = loss_of(logits, pass.batch.targets,
                                    context_.config.train.label_smoothing);
    add(outcome.loss_sum, loss.detach() * samples);
    add(outcome.correct, count_correct(logits, pass.batch.targets));
    (loss * (samples / static_cast<double>(input.global_samples))).backward();
    return logits.grad();
  }

  at::Tensor scatter_grads(const Pass& pass, const at::Tensor& logits,
                           const at::Tensor& all) {
    const at::Tensor own =
        root() ? all.narrow(0, 0, pass.own) : rows_like(logits, pass.own);
    move_rows(pass, Collective::scatter, Payload::outputs, own, all);
    return own;
  }

  // Device 0 has the sum of the passes before; a hook is for this pass's alone.
  void put_aside(const Pass& pass) {
    if (!root() || pass.index == 0 ||
        context_.config.strategy.hook == HookKind::none)
      return;
    before_ = context_.params.grads().clone();
    context_.params.zero_grads();
  }

  void reduce() {
    const at::NoGradGuard no_grad;
    context_.params.settle_grads();
    hook_.start(0);
    hook_.finish();
    if (before_.defined()) context_.params.grads().add_(before_);
    before_.reset();
  }

  // Like `like`, which may be without samples, with so many rows.
  static at::Tensor rows_like(const at::Tensor& like, std::int64_t rows) {
    std::vector<std::int64_t> sizes = like.sizes().vec();
    sizes[0] = rows;
    return at::empty(sizes, like.options().requires_grad(false));
  }

  static void add(at::Tensor& total, const at::Tensor& part) {
    total = total.defined() ? total + part : part;
  }

  StrategyContext context_;
  Group& group_;
  FlatBuffers buffers_;
  ParamList list_;
  StepShape full_;
  CommPlan plan_;
  Messages messages_;
  GradHook hook_;
  at::Tensor before_;  // of device 0, while a pass's gradients travel
};

}  // namespace

std::unique_ptr<Strategy> make_data_parallel(const StrategyContext& context) {
  if (context.group.backend() != "threads")
    throw Error(Fault::config, "strategy.kind",
                "data_parallel is one process with a replica a device; ranks "
                "here are of the group '" +
                    context.group.backend() + "'",
                "start it without a launcher, or choose ddp");
  if (context.config.strategy.collective == Route::tree)
    throw Error(Fault::config, "strategy.collective",
                "replicas of one process share memory: there is no tree to "
                "pass parameters down",
                "choose star or ring; tree can be predicted");
  return std::make_unique<DataParallel>(context);
}

}  // namespace lockstep
