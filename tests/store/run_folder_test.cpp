// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/store/samples_csv.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

RunConfig small_config() {
  RunConfig config;
  config.batch.per_rank = 10;
  return config;
}

std::vector<StepSample> steps(std::int64_t from, std::int64_t to) {
  std::vector<StepSample> out;
  for (std::int64_t i = from; i < to; ++i) out.emplace_back().step = i;
  return out;
}

TEST(RunFolder, MustBeNewOrEmpty) {
  const TempDir dir;
  RunFolder::create(dir.path / "run", small_config(), Json::object());
  try {
    RunFolder::create(dir.path / "run", small_config(), Json::object());
    FAIL() << "wrote into a run";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::store);
    EXPECT_NE(e.hint().find("--resume"), std::string::npos);
  }
}

TEST(RunFolder, KeepsTheWholeConfig) {
  const TempDir dir;
  RunConfig config = small_config();
  config.optim.lr = 0.1 + 0.2;
  config.data.mean = {0.5, 0.25};
  config.data.std = {1, 2};
  config.model.weights = "a \"b\"\\c";
  RunFolder::create(dir.path / "run", config, Json::object());
  EXPECT_EQ(to_json(RunFolder::open(dir.path / "run").config()),
            to_json(config));
}

TEST(RunFolder, RewindDropsLaterRowsAndAHalfLine) {
  const TempDir dir;
  RunFolder folder =
      RunFolder::create(dir.path / "run", small_config(), Json::object());
  folder.append(steps(0, 9), {}, std::vector<EpochSample>(1));
  std::ofstream(dir.path / "run" / "steps.csv", std::ios::app) << "9,0,0";
  folder.rewind(5, 0);
  EXPECT_EQ(read_steps(dir.path / "run" / "steps.csv").size(), 5U);
  EXPECT_TRUE(read_epochs(dir.path / "run" / "epochs.csv").empty());
  folder.append(steps(5, 7), {}, {});
  EXPECT_EQ(read_steps(dir.path / "run" / "steps.csv").back().step, 6);
}

TEST(RunRecord, ANewerSchemaIsRefused) {
  const TempDir dir;
  Json json = to_json(RunRecord{});
  write_json(dir.path / "old.json", json);
  EXPECT_EQ(read_record(dir.path / "old.json").status, "running");
  json["schema"] = kRecordSchema + 1;
  write_json(dir.path / "new.json", json);
  EXPECT_THROW(read_record(dir.path / "new.json"), Error);
}

TEST(RunRecord, SummaryLeavesOutTheFirstEpoch) {
  std::vector<StepSample> all = steps(0, 4);
  all[0].step_s = all[1].step_s = 100;
  all[2].step_s = 1, all[3].step_s = 3;
  all[2].epoch = all[3].epoch = 1;
  all[2].samples = all[3].samples = 10;
  const Json summary = summarise(all, {});
  EXPECT_EQ(summary.at("median_step_s"), 2.0);
  EXPECT_EQ(summary.at("samples_per_s"), 5.0);
}

TEST(RunRecord, SummarySetsApartStepsThatHeldTheirMessagesBack) {
  std::vector<StepSample> all = steps(0, 6);
  for (StepSample& s : all)
    s.backward_s = holds({.hold_every = 3}, s.step) ? 2 : 3;
  const Json summary = summarise(all, {}, {.hold_every = 3});
  EXPECT_EQ(summary.at("held_steps"), 2);
  EXPECT_EQ(summary.at("median_backward_held_s"), 2.0);
  EXPECT_EQ(summary.at("median_backward_s"), 3.0);
  EXPECT_EQ(summary.at("timed_steps"), 4);
}

TEST(RunRecord, SummarySaysHowLongEachRankWaitsWhereAnEpochEnds) {
  std::vector<StepSample> all;
  for (const std::int64_t rank : {0, 1})
    for (StepSample s : steps(0, 4)) {
      s.rank = rank, s.epoch = s.step / 2;
      s.wait_s = s.step % 2 == 1 ? 10 * static_cast<double>(rank) : 99;
      all.push_back(s);
    }
  EXPECT_EQ(summarise(all, {}).at("epoch_end_wait_s"), Json({0.0, 10.0}));
}

}  // namespace
}  // namespace lockstep
