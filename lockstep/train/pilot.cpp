// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/pilot.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lockstep/batch/criterion.h"
#include "lockstep/comm/agree.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/train/beginning.h"
#include "lockstep/train/prepare.h"

namespace lockstep {
namespace {

struct Trial {
  Ending ending = Ending::done;
  std::vector<EpochSample> rows;
};

RunConfig config_at(const RunConfig& config, double batch) {
  RunConfig out = config;
  out.batch.mode = BatchMode::fixed;
  out.batch.candidates.clear();
  out.batch.per_rank = 0;
  out.batch.global = static_cast<std::int64_t>(batch);
  out.train.eval_every = 1;
  out.train.rehearse = 0;
  out.store.checkpoint = false;
  validate(out);
  return out;
}

Trial try_batch(Session& s, double batch) {
  const RunConfig config = config_at(s.config, batch);
  Trial out;
  Session trial{config,
                s.device,
                s.group,
                s.model,
                s.params,
                s.optimizer,
                s.strategy,
                s.recorder,
                s.data,
                s.resident,
                nullptr,
                s.stop,
                first_batch(config)};
  trial.until_epoch = s.config.batch.pilot_epochs;
  trial.rows = &out.rows;
  out.ending = train(trial);
  return out;
}

BatchCandidate candidate_of(double batch,
                            const std::vector<EpochSample>& rows) {
  std::vector<double> times, nats;
  BatchCandidate out{.batch = batch, .runs = {}};
  double time = 0;
  for (const EpochSample& row : rows) {
    time += row.seconds_with_loading;
    times.push_back(time), nats.push_back(row.information_nats);
    if (!std::isfinite(row.train_loss)) out.diverged = true;
  }
  // A net that computes no numbers any more knows nothing.
  if (out.diverged) times = {time}, nats = {0};
  out.runs.push_back(monotone_envelope(times, nats));
  return out;
}

Json json_of(const InformationChoice& choice) {
  Json rows = Json::array();
  for (const BatchOutcome& o : choice.outcomes)
    rows.push_back({{"global_batch", o.batch},
                    {"final_nats", o.final_nats},
                    {"time_to_target_s", o.time_s.value_or(std::nan(""))},
                    {"nats_per_s", o.rate},
                    {"discarded", o.discarded}});
  return {{"target_nats", choice.target_nats}, {"candidates", rows}};
}

// Rank 0 chooses; the others take part in the trials only.
Json choose(const Session& s, const std::vector<BatchCandidate>& candidates) {
  const auto classes = static_cast<double>(s.config.model.classes);
  const InformationChoice choice =
      choose_by_information(candidates, {.label_entropy = std::log(classes)});
  Json out = json_of(choice);
  out["chosen"] = choice.outcomes[choice.chosen].batch;
  return out;
}

}  // namespace

Ending run_pilot(Session& s) {
  if (s.config.batch.mode != BatchMode::information || !s.batch.pilot.is_null())
    return Ending::done;
  const double begin = now_s();
  Beginning beginning(s);
  std::vector<BatchCandidate> candidates;
  for (const double batch : s.config.batch.candidates) {
    if (s.group.rank() == 0) fmt::print(stderr, "pilot at batch {}\n", batch);
    const Trial trial = try_batch(s, batch);
    beginning.restore();
    if (trial.ending == Ending::interrupted) return trial.ending;
    if (s.group.rank() == 0)
      candidates.push_back(candidate_of(batch, trial.rows));
  }
  Json found{{"chosen", 0.0}};
  if (s.group.rank() == 0) found = choose(s, candidates);
  found["seconds"] = now_s() - begin;
  s.batch.size.global = static_cast<std::int64_t>(
      agree(s.group, found.at("chosen").get<double>()));
  s.batch.pilot = found;
  if (s.group.rank() == 0)
    fmt::print(stderr, "pilot chose batch {} after {:.1f} s\n",
               s.batch.size.global, now_s() - begin);
  s.recorder.set_origin(shared_origin(s.group, s.elapsed_s));
  return Ending::done;
}

void check_pilot(const RunConfig& config, const DataSplit& data) {
  if (config.batch.mode != BatchMode::information) return;
  if (config.model.kind == ModelKind::gpt)
    throw Error(Fault::config, "batch.mode",
                "information counts predictions of classes, text has none",
                "choose adaptive or fixed");
  if (!data.validation)
    throw Error(Fault::config, "batch.mode",
                "information is measured on validation data, there is none",
                "hold some back, or choose adaptive or fixed");
  for (const double batch : config.batch.candidates)
    if (batch > static_cast<double>(data.train->size()))
      throw Error(Fault::config, "batch.candidates",
                  fmt::format("{} is more than the {} training samples", batch,
                              data.train->size()),
                  "leave it out");
}

}  // namespace lockstep
