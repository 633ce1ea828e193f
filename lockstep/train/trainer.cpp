// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <optional>

#include "lockstep/core/clock.h"
#include "lockstep/core/progress.h"
#include "lockstep/optim/schedule.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/train/batch_source.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/evaluate.h"

namespace lockstep {
namespace {

// Losses and hits of the steps since the last flush, kept on the device so
// that no step waits to be read.
class StepLog {
 public:
  StepLog(std::int64_t steps, c10::Device device)
      : losses_(at::zeros({steps}, at::kFloat).to(device)),
        correct_(at::zeros({}, at::kLong).to(device)) {}

  void add(const StepOutcome& outcome, std::int64_t samples) {
    const at::NoGradGuard no_grad;
    losses_[static_cast<std::int64_t>(samples_.size())].copy_(
        outcome.loss_sum / static_cast<double>(samples));
    correct_ += outcome.correct;
    samples_.push_back(samples);
  }

  // The mean loss of each step since the last call; totals are moved on.
  std::vector<double> drain(EpochTotals& totals) {
    const auto n = static_cast<std::int64_t>(samples_.size());
    const at::Tensor read = losses_.slice(0, 0, n).cpu();
    std::vector<double> out;
    for (std::int64_t i = 0; i < n; ++i) {
      out.push_back(read.const_data_ptr<float>()[i]);
      const std::int64_t samples = samples_[static_cast<std::size_t>(i)];
      totals.loss_sum += out.back() * static_cast<double>(samples);
      totals.samples += samples;
    }
    totals.correct += correct_.item<std::int64_t>();
    correct_.zero_();
    samples_.clear();
    return out;
  }

 private:
  at::Tensor losses_, correct_;
  std::vector<std::int64_t> samples_;
};

double total_epochs(const Session& s) {
  if (s.config.train.steps == 0)
    return static_cast<double>(s.config.train.epochs);
  return static_cast<double>(s.config.train.steps * global_batch(s.config)) /
         static_cast<double>(s.data.train->size());
}

bool finished(const Session& s) {
  if (s.config.train.steps > 0) return s.at.step >= s.config.train.steps;
  return s.at.epoch >= s.config.train.epochs;
}

// Measured rows to disk, sums to the epoch's totals.
void flush(Session& s, StepLog& log) {
  const std::vector<double> losses = log.drain(s.totals);
  const Recorder::Samples samples = s.recorder.collect(losses);
  for (const StepSample& step : samples.steps) {
    if (std::isnan(step.forward_s)) continue;
    s.totals.busy_s += step.forward_s + step.backward_s + step.optim_s;
    s.totals.timed_s += step.step_s;
  }
  if (s.folder != nullptr)
    s.folder->append(samples.steps, samples.messages, {});
}

void checkpoint(Session& s, bool best) {
  if (s.folder == nullptr || !s.config.store.checkpoint) return;
  save_checkpoint({.folder = s.folder->checkpoints(),
                   .step = s.at.step,
                   .identity = identity_of(s.config),
                   .best = best},
                  *s.model.module, state_of(s));
}

// The samples of one step of this rank, pass by pass.
struct Loaded {
  std::vector<Batch> passes;
  std::int64_t samples = 0, predictions = 0;
};

Loaded load_step(const Session& s, BatchSource& source) {
  Loaded out;
  for (std::int64_t i = 0; i < s.config.batch.accumulate; ++i) {
    Batch batch = source.next();
    // The last step of an epoch may leave a pass without samples.
    if (batch.samples == 0) continue;
    out.samples += batch.samples;
    out.predictions += batch.targets.numel();
    out.passes.push_back(std::move(batch));
  }
  return out;
}

StepOutcome train_step(Session& s, std::vector<Batch> passes,
                       std::int64_t global_samples) {
  s.recorder.cut(Span::data);
  for (Batch& batch : passes)
    batch = to_device(batch, s.device.torch(), s.config.train);
  s.recorder.cut(Span::copy);
  const double epoch = static_cast<double>(s.at.epoch) +
                       static_cast<double>(s.at.done) /
                           static_cast<double>(s.data.train->size());
  s.lr = learning_rate(s.config.optim, epoch, total_epochs(s));
  return s.strategy.step({.passes = std::move(passes),
                          .global_samples = global_samples,
                          .lr = s.lr},
                         s.optimizer);
}

bool due(std::int64_t every, std::int64_t count) {
  return every > 0 && count % every == 0;
}

bool epoch_done(const Session& s) { return s.at.done == s.data.train->size(); }

// One step, from asking for its samples to the moved position.
void advance(Session& s, BatchSource& source, StepLog& log, bool last) {
  const double begin = now_s();
  s.recorder.begin_step(s.at.step, s.at.epoch);
  Loaded loaded = load_step(s, source);
  const double ready = now_s();
  const std::int64_t global =
      std::min(global_batch(s.config), s.data.train->size() - s.at.done);
  s.totals.predictions += loaded.predictions;
  log.add(train_step(s, std::move(loaded.passes), global), loaded.samples);
  s.recorder.end_step(loaded.samples);
  // Time read while a GPU still works would be the host's alone.
  if (last) s.device.synchronize();
  s.totals.seconds += now_s() - ready;
  s.totals.seconds_with_loading += now_s() - begin;
  ++s.at.step, s.at.done += global;
}

// Trains to the end of the epoch, or to where it was told to stop.
Ending train_epoch(Session& s) {
  BatchSource source(s);
  std::int64_t steps = source.steps();
  if (s.config.train.steps > 0)
    steps = std::min(steps, s.config.train.steps - s.at.step);
  StepLog log(steps, s.device.torch());
  std::optional<Progress> bar;
  if (s.group.rank() == 0)
    bar.emplace(fmt::format("epoch {}", s.at.epoch + 1), s.data.train->size(),
                "samples");
  for (std::int64_t i = 0; i < steps && s.stop == 0; ++i) {
    advance(s, source, log, i + 1 == steps);
    if (bar) bar->update(s.at.done);
    if (due(s.config.store.every_steps, s.at.step) && !epoch_done(s)) {
      flush(s, log);
      checkpoint(s, false);
    }
  }
  flush(s, log);
  return s.stop == 0 ? Ending::done : Ending::interrupted;
}

EpochSample row_of(Session& s) {
  const EpochTotals& t = s.totals;
  const auto samples = static_cast<double>(t.samples);
  return {.epoch = s.at.epoch,
          .train_loss = t.loss_sum / samples,
          .train_accuracy = static_cast<double>(t.correct) /
                            static_cast<double>(t.predictions),
          .lr = s.lr,
          .global_batch = global_batch(s.config),
          .peak_memory_bytes = s.device.peak_memory_bytes(),
          .device_busy = t.timed_s > 0 ? t.busy_s / t.timed_s : std::nan(""),
          .seconds = t.seconds,
          .seconds_with_loading = t.seconds_with_loading};
}

void say(const EpochSample& e) {
  std::string text =
      fmt::format("epoch {:3}  loss {:.4f}  accuracy {:5.2f} %", e.epoch + 1,
                  e.train_loss, e.train_accuracy * 100);
  if (std::isfinite(e.val_accuracy))
    text += fmt::format("  validation loss {:.4f}  accuracy {:5.2f} %",
                        e.val_loss, e.val_accuracy * 100);
  fmt::print(stderr, "{}  {:.2f} s\n", text, e.seconds_with_loading);
}

// The epoch's row, then its checkpoint: one that is cut off in between is
// trained again from the checkpoint before and writes the same row.
void finish_epoch(Session& s) {
  EpochSample row = row_of(s);
  if (epoch_done(s)) ++s.at.epoch, s.at.done = 0;
  const bool last = finished(s);
  const std::int64_t every = s.config.train.eval_every;
  if (s.data.validation && every > 0 && (last || due(every, row.epoch + 1))) {
    const Evaluation e =
        evaluate(s.config, s.model, *s.data.validation, s.device, s.group);
    row.val_loss = e.loss, row.val_accuracy = e.accuracy;
    row.information_nats = e.information_nats;
  }
  s.totals = {};
  if (s.group.rank() == 0) say(row);
  if (s.folder != nullptr) s.folder->append({}, {}, std::span(&row, 1));
  const bool best =
      s.config.store.keep_best && row.val_accuracy > s.best_accuracy;
  if (best) s.best_accuracy = row.val_accuracy;
  if (last || best || due(s.config.store.every_epochs, s.at.epoch))
    checkpoint(s, best);
}

}  // namespace

Ending train(Session& s) {
  s.device.reset_peak_memory();
  while (!finished(s)) {
    const Ending ending = train_epoch(s);
    if (epoch_done(s) || finished(s)) finish_epoch(s);
    if (ending == Ending::interrupted && !finished(s)) {
      checkpoint(s, false);
      return ending;
    }
  }
  return Ending::done;
}

}  // namespace lockstep
