// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/rehearse.h"

#include <fmt/format.h>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/train/beginning.h"
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

// Settings of a trial that ends after the step of that number.
RunConfig config_of(const Session& s, std::int64_t number, bool evaluates) {
  RunConfig out = s.config;
  out.batch.mode = BatchMode::fixed;
  out.batch.candidates.clear();
  out.train.rehearse = 0;
  out.train.steps = number + 1;
  out.train.eval_every = evaluates && s.config.train.eval_every > 0 ? 1 : 0;
  out.store.checkpoint = false;
  return out;
}

// One step that begins `done` samples into an epoch. Its number decides whether
// it is timed, and steps that are timed are captured apart.
Ending run_step(Session& s, std::int64_t done, std::int64_t number,
                bool evaluates) {
  const RunConfig config = config_of(s, number, evaluates);
  Session trial{config,      s.device,   s.group,    s.model, s.params,
                s.optimizer, s.strategy, s.recorder, s.data,  s.resident,
                nullptr,     s.stop,     s.batch};
  trial.at = {.epoch = 0, .step = number, .done = done};
  trial.quiet = true;
  return train(trial);
}

// Where steps of each size begin: the full ones, and the short one that an
// epoch may end with.
std::vector<std::int64_t> beginnings(const Session& s) {
  const std::int64_t size = s.data.train->size(), batch = s.batch.size.global;
  std::vector<std::int64_t> out;
  if (size >= batch) out.push_back(0);
  if (size % batch != 0) out.push_back(size / batch * batch);
  return out;
}

}  // namespace

Ending rehearse(Session& s) {
  const std::int64_t count = s.config.train.rehearse;
  if (count == 0) return Ending::done;
  const double begin = now_s();
  Beginning beginning(s);
  std::int64_t steps = 0;
  Ending ending = Ending::done;
  for (const std::int64_t done : beginnings(s))
    for (std::int64_t i = 0; i < count && ending == Ending::done; ++i) {
      // Timed and not, in turn, where only some steps are.
      ending = run_step(s, done, i % 2, ++steps == count);
    }
  beginning.restore();
  s.device.synchronize();
  s.rehearsal = {{"rehearsed_steps", steps}, {"rehearsal_s", now_s() - begin}};
  s.recorder.set_origin(shared_origin(s.group, s.elapsed_s));
  return ending;
}

void check_rehearsal(const RunConfig& config) {
  if (config.train.rehearse == 0) return;
  const auto refuse = [](const char* what, const char* hint) {
    throw Error(Fault::config, "train.rehearse", what, hint);
  };
  if (config.strategy.kind == StrategyKind::local_sgd ||
      config.strategy.hook != HookKind::none)
    refuse("local_sgd and gradient hooks remember their steps",
           "set train.rehearse=0, or choose ddp without a hook");
}

}  // namespace lockstep
