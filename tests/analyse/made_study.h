// SPDX-License-Identifier: Apache-2.0
// Run folders with known step times, written by the store as the trainer does.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/store/run_folder.h"
#include "tests/analyse/made_series.h"
#include "tests/store/temp_dir.h"

namespace lockstep {

struct MadeRun {
  StrategyKind strategy = StrategyKind::ddp;
  std::int64_t ranks = 1, per_rank = 32, seed = 1;
  double step_s = 0.010, spread = 0.02;
  std::int64_t steps = 120, epochs = 2;
  std::string hardware = "made device";
  bool diverges = false;
  // Each epoch's batch where it is not the recipe's; the last stands for more.
  std::vector<std::int64_t> batches = {};
};

class MadeStudy {
 public:
  std::filesystem::path add(const MadeRun& m) {
    RunConfig config;
    config.batch.per_rank = m.per_rank;
    config.comm.ranks = m.ranks;
    config.train.seed = m.seed;
    config.strategy.kind = m.strategy;
    const auto path = dir_.path / "runs" / fmt::format("{:05}", ++runs_);
    RunFolder folder = RunFolder::create(
        path, config,
        {{"schema", 1}, {"host", "h"}, {"device", {{"name", m.hardware}}}});
    std::vector<StepSample> steps;
    const auto times = made_series(
        {static_cast<std::size_t>(m.steps), m.step_s, m.spread}, seed_++);
    for (std::int64_t i = 0; i < m.steps; ++i)
      for (std::int64_t rank = 0; rank < m.ranks; ++rank)
        steps.push_back(
            step_of(m, i, rank, times[static_cast<std::size_t>(i)]));
    std::vector<EpochSample> epochs;
    for (std::int64_t e = 0; e < m.epochs; ++e) {
      EpochSample epoch{.epoch = e};
      epoch.train_loss = m.diverges ? std::nan("") : 1.0 / (1.0 + double(e));
      epoch.global_batch = batch_of(m, e);
      epoch.seconds_with_loading = 10 * m.step_s;
      epochs.push_back(epoch);
    }
    folder.append(steps, {}, epochs);
    RunRecord record;
    record.status = "done";
    record.config = to_json(config);
    record.data = {{"train_samples", 2000}};
    record.summary = summarise(steps, epochs);
    folder.write_record(record);
    folder.mark_done();
    return path;
  }
  const std::filesystem::path& path() const { return dir_.path; }
  Study read() const {
    return read_runs(std::vector<std::string>{path().string()});
  }

 private:
  static std::int64_t batch_of(const MadeRun& m, std::int64_t epoch) {
    if (m.batches.empty()) return m.per_rank * m.ranks;
    const auto last = static_cast<std::int64_t>(m.batches.size()) - 1;
    return m.batches[static_cast<std::size_t>(std::min(epoch, last))];
  }

  static StepSample step_of(const MadeRun& m, std::int64_t i, std::int64_t rank,
                            double time) {
    StepSample s{.step = i, .epoch = 0, .rank = rank, .samples = m.per_rank};
    s.step_s = time;
    s.forward_s = 0.3 * time, s.backward_s = 0.6 * time;
    s.exposed_comm_s = m.ranks > 1 ? 0.1 * time : 0;
    s.loss = m.diverges ? std::nan("") : 1.0;
    return s;
  }

  TempDir dir_;
  int runs_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace lockstep
