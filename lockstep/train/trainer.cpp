// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <optional>

#include "lockstep/core/clock.h"
#include "lockstep/core/progress.h"
#include "lockstep/train/adaptive_batch.h"
#include "lockstep/train/batch_source.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/evaluate.h"
#include "lockstep/train/learning_rate.h"
#include "lockstep/train/lookahead.h"
#include "lockstep/train/noise_log.h"
#include "lockstep/train/pilot.h"
#include "lockstep/train/prepare.h"
#include "lockstep/train/rehearse.h"
#include "lockstep/train/step_log.h"
#include "lockstep/train/stop_vote.h"

namespace lockstep {
namespace {

double total_epochs(const Session& s) {
  if (s.config.train.steps == 0)
    return static_cast<double>(s.config.train.epochs);
  const std::int64_t batch = s.config.batch.mode == BatchMode::adaptive
                                 ? global_batch(s.config)
                                 : s.batch.size.global;
  return static_cast<double>(s.config.train.steps * batch) /
         static_cast<double>(s.data.train->size());
}

// An adaptive batch counts epochs by what samples are worth at the base batch.
bool counts_progress(const Session& s) {
  return s.config.batch.mode == BatchMode::adaptive;
}

double epochs_behind(const Session& s) {
  const auto size = static_cast<double>(s.data.train->size());
  if (counts_progress(s)) return s.batch.progress / size;
  return static_cast<double>(s.at.epoch) +
         static_cast<double>(s.at.done) / size;
}

bool finished(const Session& s) {
  if (s.until_epoch > 0 && s.at.epoch >= s.until_epoch) return true;
  if (s.config.train.steps > 0) return s.at.step >= s.config.train.steps;
  if (counts_progress(s))
    return epochs_behind(s) >= static_cast<double>(s.config.train.epochs);
  return s.at.epoch >= s.config.train.epochs;
}

// Whether an epoch follows the one under way.
bool more_epochs(const Session& s) {
  return s.config.train.steps == 0 && s.at.epoch + 1 < s.config.train.epochs;
}

// Whether the step just done was the run's last: epochs are counted when they
// are over.
bool ends_run(const Session& s) {
  if (s.config.train.steps > 0 || counts_progress(s)) return finished(s);
  return s.at.epoch + 1 == s.config.train.epochs &&
         s.at.done == s.data.train->size();
}

// Whether the next step, of so many samples, is the run's last.
bool is_last(const Session& s, std::int64_t samples) {
  if (s.config.train.steps > 0) return s.at.step + 1 >= s.config.train.steps;
  if (!counts_progress(s)) return false;
  const double after = s.batch.progress + progress_of(s, samples);
  return after >= static_cast<double>(s.config.train.epochs) *
                      static_cast<double>(s.data.train->size());
}

// Measured rows of all ranks to disk, sums to the epoch's totals.
void flush(Session& s, StepLog& log, NoiseLog& noise) {
  const std::vector<StepResult> results = log.drain();
  std::vector<double> losses;
  for (const StepResult& result : results) losses.push_back(result.loss);
  add_up(s.totals, results, s.group);
  const Recorder::Samples mine = s.recorder.collect(losses);
  for (const StepSample& step : mine.steps) {
    if (std::isnan(step.forward_s)) continue;
    s.totals.busy_s += step.forward_s + step.backward_s + step.optim_s;
    s.totals.timed_s += step.step_s;
  }
  keep_times(s.batch, mine.steps);
  noise.drain(s);
  const Recorder::Samples all = gather_samples(s.group, mine);
  if (s.folder != nullptr) s.folder->append(all.steps, all.messages, {});
}

// Before the host does something else than the next step. Steps that a GPU
// still has to run are the epoch's time too.
void pause(Session& s, StepLog& log, NoiseLog& noise) {
  const double begin = now_s();
  s.device.synchronize();
  const double waited = now_s() - begin;
  s.totals.seconds += waited, s.totals.seconds_with_loading += waited;
  flush(s, log, noise);
}

// All ranks take part, rank 0 writes.
void checkpoint(Session& s, bool best) {
  if (!s.config.store.checkpoint) return;
  s.strategy.sync();
  const StrategyState state = s.strategy.save();
  if (s.folder == nullptr) return;
  save_checkpoint({.folder = s.folder->checkpoints(),
                   .step = s.at.step,
                   .identity = identity_of(s.config),
                   .best = best},
                  *s.model.module, state_of(s, state));
}

// What steps leave behind until the next flush.
struct Logs {
  StepLog steps;
  NoiseLog noise;
};

// The samples of one step of this rank, pass by pass.
struct Loaded {
  std::vector<Batch> passes;
  std::int64_t samples = 0, predictions = 0;
};

Loaded load_step(const Session& s, BatchSource& source) {
  Loaded out;
  for (std::int64_t i = 0; i < s.batch.size.passes; ++i) {
    Batch batch = source.next();
    out.samples += batch.samples;
    out.predictions += batch.targets.numel();
    out.passes.push_back(std::move(batch));
  }
  return out;
}

StepOutcome train_step(Session& s, BatchSource& source,
                       std::vector<Batch> passes, std::int64_t global_samples,
                       bool last, GradNorms* norms) {
  s.recorder.cut(Span::data);
  for (Batch& batch : passes) batch = source.upload(std::move(batch));
  s.recorder.cut(Span::copy);
  s.lr = learning_rate_at(
      s.config.optim, {.epoch = epochs_behind(s),
                       .total_epochs = total_epochs(s),
                       .global_batch = static_cast<double>(s.batch.size.global),
                       .gain = s.batch.gain});
  return s.strategy.step({.passes = std::move(passes),
                          .global_samples = global_samples,
                          .lr = s.lr,
                          .step = s.at.step,
                          .last = last,
                          .norms = norms},
                         s.optimizer);
}

bool due(std::int64_t every, std::int64_t count) {
  return every > 0 && count % every == 0;
}

bool epoch_done(const Session& s) { return s.at.done == s.data.train->size(); }

// Samples that the step's mean is over. The other ranks of an emulated cluster
// have none: the one that is real trains on its own.
std::int64_t weighed(const Session& s, const Loaded& loaded,
                     std::int64_t global) {
  return s.config.comm.kind == CommKind::emulated ? loaded.samples : global;
}

// One step, from asking for its samples to the moved position.
// True when the ranks agreed to stop after it.
bool advance(Session& s, BatchSource& source, Logs& logs, StopVote& vote,
             bool last_of_epoch) {
  const double begin = now_s();
  s.recorder.begin_step(s.at.step, s.at.epoch);
  vote.begin();
  Loaded loaded = load_step(s, source);
  const double ready = now_s();
  const std::int64_t global =
      std::min(s.batch.size.global, s.data.train->size() - s.at.done);
  const bool last = last_of_epoch || is_last(s, global);
  GradNorms* norms = nullptr;
  if (measures_noise(s, global)) {
    norms = logs.noise.next(s.at.step);
    if (s.group.size() == 1)
      loaded.passes = in_halves(std::move(loaded.passes));
  }
  search_kernels_for(
      s.config, s.device,
      s.batch.search && global == s.batch.size.global && norms == nullptr);
  logs.steps.add(train_step(s, source, std::move(loaded.passes),
                            weighed(s, loaded, global), last, norms),
                 loaded.samples, loaded.predictions);
  s.recorder.end_step(loaded.samples);
  if (last_of_epoch && more_epochs(s)) order_next_epoch(s);
  s.totals.seconds += now_s() - ready;
  s.totals.seconds_with_loading += now_s() - begin;
  s.batch.progress += progress_of(s, global);
  ++s.at.step, s.at.done += global;
  const double share = std::min(epochs_behind(s) / total_epochs(s), 1.0);
  look_ahead(s, ends_run(s) ? 1 : share);
  return vote.end();
}

// Trains to the end of the epoch, or to where it was told to stop.
Ending train_epoch(Session& s) {
  BatchSource source(s);
  std::int64_t steps = source.steps();
  if (s.config.train.steps > 0)
    steps = std::min(steps, s.config.train.steps - s.at.step);
  Logs logs{StepLog(steps, s.device.torch()), {}};
  std::optional<Progress> bar;
  if (s.group.rank() == 0 && !s.quiet)
    bar.emplace(fmt::format("epoch {}", s.at.epoch + 1), s.data.train->size(),
                "samples");
  StopVote vote(s.group, s.recorder, s.stop);
  bool stop = false;
  for (std::int64_t i = 0; i < steps && !stop && !finished(s); ++i) {
    stop = advance(s, source, logs, vote, i + 1 == steps);
    if (bar) bar->update(s.at.done);
    if (epoch_done(s)) break;
    if (due(s.config.store.every_steps, s.at.step)) {
      pause(s, logs.steps, logs.noise);
      checkpoint(s, false);
    }
    if (stop || finished(s) || !decision_due(s)) continue;
    pause(s, logs.steps, logs.noise);
    // Steps of another size come from another source.
    if (decide(s)) break;
  }
  pause(s, logs.steps, logs.noise);
  return stop ? Ending::interrupted : Ending::done;
}

EpochSample row_of(Session& s) {
  const EpochTotals& t = s.totals;
  const auto samples = static_cast<double>(t.samples);
  return {.epoch = s.at.epoch,
          .train_loss = t.loss_sum / samples,
          .train_accuracy = static_cast<double>(t.correct) /
                            static_cast<double>(t.predictions),
          .lr = s.lr,
          .global_batch = s.batch.size.global,
          .peak_memory_bytes = s.device.peak_memory_bytes(),
          .device_busy = t.timed_s > 0 ? t.busy_s / t.timed_s : std::nan(""),
          .seconds = t.seconds,
          .seconds_with_loading = t.seconds_with_loading};
}

void say_epoch(const EpochSample& e) {
  std::string text =
      fmt::format("epoch {:3}  loss {:.4f}  accuracy {:5.2f} %", e.epoch + 1,
                  e.train_loss, e.train_accuracy * 100);
  if (std::isfinite(e.val_accuracy))
    text += fmt::format("  validation loss {:.4f}  accuracy {:5.2f} %",
                        e.val_loss, e.val_accuracy * 100);
  fmt::print(stderr, "{}  {:.2f} s\n", text, e.seconds_with_loading);
}

HeldBack held_back(Session& s) {
  return {*s.data.validation,
          s.resident.validation ? &*s.resident.validation : nullptr};
}

// The epoch's row, then its checkpoint: one that is cut off in between is
// trained again from the checkpoint before and writes the same row.
void finish_epoch(Session& s) {
  EpochSample row = row_of(s);
  if (epoch_done(s)) ++s.at.epoch, s.at.done = 0;
  const bool last = finished(s);
  const std::int64_t every = s.config.train.eval_every;
  if (s.data.validation && every > 0 && (last || due(every, row.epoch + 1))) {
    s.strategy.sync();
    const Evaluation e =
        evaluate(s.config, s.model, held_back(s), s.device, s.group);
    row.val_loss = e.loss, row.val_accuracy = e.accuracy;
    row.information_nats = e.information_nats;
  }
  s.totals = {};
  if (s.group.rank() == 0 && !s.quiet) say_epoch(row);
  if (s.folder != nullptr) s.folder->append({}, {}, std::span(&row, 1));
  if (s.rows != nullptr) s.rows->push_back(row);
  const bool best =
      s.config.store.keep_best && row.val_accuracy > s.best_accuracy;
  if (best) s.best_accuracy = row.val_accuracy;
  if (last || best || due(s.config.store.every_epochs, s.at.epoch))
    checkpoint(s, best);
}

}  // namespace

Ending train(Session& s) {
  if (run_pilot(s) == Ending::interrupted) return Ending::interrupted;
  if (rehearse(s) == Ending::interrupted) return Ending::interrupted;
  s.device.reset_peak_memory();
  const double begin = now_s();
  begin_lookahead(s);
  Ending ending = Ending::done;
  while (!finished(s) && ending == Ending::done) {
    if (decision_due(s)) decide(s);
    ending = train_epoch(s);
    if (epoch_done(s) || finished(s)) finish_epoch(s);
    if (finished(s)) ending = Ending::done;
  }
  if (ending == Ending::interrupted) checkpoint(s, false);
  s.training_s = now_s() - begin;
  return ending;
}

}  // namespace lockstep
