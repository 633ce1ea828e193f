// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/pass.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "lockstep/comm/group.h"
#include "lockstep/kernels/loss.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/clip.h"
#include "lockstep/optim/flat_buffers.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/strategy/buckets.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/strategy/messages.h"

namespace lockstep {
namespace {

// While it lives, eligible operations on `device` run in bf16. The cache of
// cast parameters goes with it: they change before the next forward.
class Bf16 {
 public:
  explicit Bf16(c10::DeviceType device)
      : device_(device), was_(at::autocast::is_autocast_enabled(device)) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Bf16() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_);
  }
  Bf16(const Bf16&) = delete;
  Bf16& operator=(const Bf16&) = delete;

 private:
  c10::DeviceType device_;
  bool was_;
};

// Logits as the model gives them.
at::Tensor raw_forward(const Model& model, const at::Tensor& inputs,
                       const TrainConfig& config) {
  if (config.precision != Precision::bf16) return model.forward(inputs);
  const Bf16 bf16(inputs.device().type());
  return model.forward(inputs);
}

void add(at::Tensor& total, const at::Tensor& part) {
  total = total.defined() ? total + part : part;
}

// A pass without samples is left out, unless other ranks wait for what its
// BatchNorms have to say.
bool runs(const StrategyContext& context, const Batch& pass) {
  return pass.samples > 0 ||
         (context.config.strategy.sync_batchnorm && context.group.size() > 1);
}

// One past the last pass that runs.
std::size_t end_of(const StrategyContext& context, const StepInput& input) {
  std::size_t end = input.passes.size();
  while (end > 0 && !runs(context, input.passes[end - 1])) --end;
  return end;
}

// The mean over no samples is no number; its gradient is none.
at::Tensor pass_loss(const StrategyContext& context, const at::Tensor& logits,
                     const Batch& pass) {
  if (pass.samples == 0) return logits.sum();
  return lockstep::loss_of(logits, pass.targets,
                           context.config.train.label_smoothing);
}

double sample_share(std::int64_t samples, const StepInput& input) {
  return static_cast<double>(samples) /
         static_cast<double>(input.global_samples);
}

}  // namespace

Batch to_device(const Batch& batch, c10::Device device,
                const TrainConfig& config) {
  Batch out = batch;
  out.inputs = batch.inputs.to(device, /*non_blocking=*/true);
  out.targets = batch.targets.to(device, /*non_blocking=*/true);
  if (config.channels_last && out.inputs.dim() == 4)
    out.inputs = out.inputs.contiguous(at::MemoryFormat::ChannelsLast);
  out.in_place = batch.in_place && out.inputs.is_same(batch.inputs) &&
                 out.targets.is_same(batch.targets);
  return out;
}

at::Tensor forward(const Model& model, const at::Tensor& inputs,
                   const TrainConfig& config) {
  const at::Tensor logits = raw_forward(model, inputs, config);
  return config.precision == Precision::bf16 ? logits.to(at::kFloat) : logits;
}

at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  return logits.detach().argmax(-1).eq(targets).sum();
}

PassRoot forward_pass(const StrategyContext& context, const Batch& pass,
                      std::int64_t global_samples, StepOutcome& outcome) {
  const TrainConfig& train = context.config.train;
  const auto samples = static_cast<double>(pass.samples);
  const auto global = static_cast<double>(global_samples);
  at::Tensor logits = raw_forward(context.model, pass.inputs, train);
  // A large vocabulary's loss is taken as it is: in fp32 it is gigabytes.
  if (train.precision == Precision::bf16 &&
      !has_loss_kernel(logits, pass.targets))
    logits = logits.to(at::kFloat);
  if (pass.samples > 0 && has_loss_kernel(logits, pass.targets)) {
    // A sample of text is many predictions, and its loss their mean.
    const double each = static_cast<double>(pass.targets.numel()) / samples;
    const LossCount out = cross_entropy_count(
        logits, pass.targets, train.label_smoothing, 1 / (global * each));
    add(outcome.loss_sum, each == 1 ? out.loss_sum : out.loss_sum / each);
    add(outcome.correct, out.correct);
    return {logits, out.grad};
  }
  const at::Tensor loss = pass_loss(context, logits, pass);
  add(outcome.loss_sum, loss.detach() * samples);
  add(outcome.correct, count_correct(logits, pass.targets));
  // A whole batch needs no weight, and 1.0 * x is not free.
  return {samples == global ? loss : loss * (samples / global), {}};
}

StepOutcome run_passes(const StrategyContext& context, const StepInput& input,
                       const std::function<void()>& before_last) {
  StepOutcome outcome;
  const std::size_t end = end_of(context, input);
  for (std::size_t i = 0; i < end; ++i) {
    const Batch& pass = input.passes[i];
    if (!runs(context, pass)) continue;
    const PassRoot root =
        forward_pass(context, pass, input.global_samples, outcome);
    context.recorder.cut(Span::forward);
    if (i + 1 == end && before_last) before_last();
    root.backward();
    if (compares_passes(context, input)) {
      context.params.settle_grads();
      note_pass(context, input, pass, i + 1 < end);
    }
    context.recorder.cut(Span::backward);
  }
  return outcome;
}

StepOutcome run_passes(const StrategyContext& context, const StepInput& input,
                       Buckets& buckets) {
  // Without arm() every bucket leaves in finish(), when backward is over.
  const bool held = holds(context.config.measure, input.step);
  StepOutcome outcome = run_passes(context, input, [&buckets, held] {
    if (!held) buckets.arm();
  });
  buckets.finish();
  if (input.norms != nullptr) note_sent(input);
  if (!held) context.recorder.cut(Span::backward);
  return outcome;
}

bool compares_passes(const StrategyContext& context, const StepInput& input) {
  return input.norms != nullptr && context.group.size() == 1;
}

void note_pass(const StrategyContext& context, const StepInput& input,
               const Batch& pass, bool more) {
  input.norms->add_pass(context.params.grads(), pass.samples,
                        sample_share(pass.samples, input), more);
}

void note_sent(const StepInput& input) {
  std::int64_t samples = 0;
  for (const Batch& pass : input.passes) samples += pass.samples;
  input.norms->end_sent(samples, sample_share(samples, input));
}

void broadcast_from_0(const StrategyContext& context,
                      const FlatBuffers& buffers) {
  const at::NoGradGuard no_grad;
  context.group.run(
      {.op = Collective::broadcast, .tensor = context.params.values()});
  if (!buffers.empty())
    context.group.run(
        {.op = Collective::broadcast, .tensor = buffers.values()});
}

void send_buffers(const StrategyContext& context, const FlatBuffers& buffers,
                  const CommPlan& plan, Messages& messages) {
  if (buffers.empty()) return;
  messages.start(with_payload(plan, Payload::buffers).front(), 0,
                 {.op = Collective::broadcast, .tensor = buffers.values()});
  messages.wait();
  context.recorder.cut(Span::exposed_comm);
}

double clip(const StrategyContext& context) {
  const double limit = context.config.train.clip_norm;
  return limit == 0 ? 1 : clip_scale(grad_norm(context.params), limit);
}

}  // namespace lockstep
