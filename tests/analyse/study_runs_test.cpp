// SPDX-License-Identifier: Apache-2.0
// Studies made here, as the trainer writes run folders: points, scaling, and a
// clear word for whatever is broken.
#include "lockstep/analyse/study_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "lockstep/analyse/scaling.h"
#include "lockstep/core/error.h"
#include "tests/analyse/made_study.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(StudyRuns, ABatchThatAPilotPickedIsTheRunsBatch) {
  MadeStudy made;
  made.add({.per_rank = 128, .epochs = 3, .batches = {64}});
  const Study study = made.read();
  ASSERT_EQ(study.points.size(), 1u);
  EXPECT_EQ(study.points[0].global_batch, 64);
  EXPECT_NEAR(study.points[0].samples_per_s, 64 / 0.010, 200);
}

TEST(StudyRuns, ABatchThatChangesIsSaidAndItsRateIsTheRecords) {
  MadeStudy made;
  made.add({.per_rank = 64, .epochs = 3, .batches = {64, 128}});
  const Study study = made.read();
  ASSERT_EQ(study.runs.size(), 1u);
  EXPECT_TRUE(study.runs[0].batch_changes);
  EXPECT_EQ(study.runs[0].notes[0],
            "its batch changes as it trains: 64 to 128");
  EXPECT_EQ(study.points[0].samples_per_s,
            study.runs[0].summary["samples_per_s"].get<double>());
}

TEST(StudyRuns, SeedsOfOneConfigurationAreOnePoint) {
  MadeStudy study;
  study.add({.ranks = 1, .seed = 1});
  study.add({.ranks = 1, .seed = 2});
  study.add({.ranks = 2, .seed = 1});
  const Study read = study.read();
  ASSERT_EQ(read.points.size(), 2u);
  EXPECT_EQ(read.points[0].runs.size(), 2u);
  EXPECT_NEAR(read.points[0].step.value, 0.010, 2e-4);
  EXPECT_GT(read.points[0].step.high, read.points[0].step.low);
}

// The ledger of a sweep that ran three seeds of a point, two beside others.
TEST(StudyRuns, OnlyRunsThatWereTimedGiveAPointItsTimes) {
  MadeStudy made;
  const auto add = [&](std::int64_t seed, double step_s, const char* point) {
    const auto path = made.add({.seed = seed, .step_s = step_s});
    const auto run = made.path() / "runs" / point / "1";
    std::filesystem::create_directories(run.parent_path());
    std::filesystem::rename(path, run);
  };
  add(1, 0.010, "a"), add(2, 0.070, "b"), add(3, 0.090, "c");
  std::ofstream(made.path() / "study.toml");
  std::ofstream ledger(made.path() / "ledger.jsonl");
  const auto say = [&](const char* event, const std::string& point, Json more) {
    more.update({{"event", event}, {"point", point}, {"mode", "train"}});
    more["run"] = "runs/" + point + "/1";
    ledger << more << std::endl;
  };
  for (const char* point : {"a", "b", "c"}) say("queued", point, {});
  say("done", "a", {{"timed", true}});
  say("done", "b", {{"timed", false}, {"shared", true}});
  say("started", "c", {{"shared", true}});  // and still runs
  const Study study = made.read();
  ASSERT_EQ(study.runs.size(), 3u);
  for (const RunFacts& run : study.runs) {
    EXPECT_EQ(run.timed(), run.seed == 1);
    EXPECT_EQ(run.epoch_s > 0, run.seed == 1);
    EXPECT_EQ(run.epochs.size(), 2u);
    EXPECT_EQ(run.not_timed,
              run.seed == 1 ? "" : "ran beside others: not timed");
  }
  double epoch_s = 0;
  for (const StudyPoint& p : study.points)
    if (p.drawn()) epoch_s = p.epoch_s;
  EXPECT_NEAR(epoch_s, 0.1, 1e-9);  // ten steps, as made
  EXPECT_THAT(study.notes,
              Contains("2 of 3 runs ran beside others: not timed"));
}

TEST(Scaling, WeakScalingOfAKnownEfficiencyIsFound) {
  MadeStudy study;
  for (const std::int64_t ranks : {1, 2, 4})
    study.add({.ranks = ranks,
               .per_rank = 32,
               .step_s = 0.010 * (1 + 0.1 * std::log2(ranks))});
  const auto series = scaling_of(study.read());
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].kind, ScalingKind::weak);
  ASSERT_EQ(series[0].steps.size(), 3u);
  const ScalingStep& four = series[0].steps[2];
  EXPECT_NEAR(four.efficiency.value, 1 / 1.2, 0.01);
  EXPECT_NEAR(four.speedup.value, 4 / 1.2, 0.04);
  EXPECT_LT(four.efficiency.low, 1 / 1.2);
  EXPECT_GT(four.efficiency.high, 1 / 1.2);
  EXPECT_NEAR(four.comm_by_subtraction_s, 0.002, 2e-4);
}

TEST(Scaling, StrongScalingKeepsTheGlobalBatch) {
  MadeStudy study;
  for (const std::int64_t ranks : {1, 2})
    study.add({.ranks = ranks, .per_rank = 64 / ranks, .step_s = 0.01});
  const auto series = scaling_of(study.read());
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].kind, ScalingKind::strong);
  EXPECT_NEAR(series[0].steps[1].speedup.value, 1, 0.02);
}

TEST(Scaling, ASingleRunIsTheBaseOfEveryStrategy) {
  MadeStudy study;
  study.add({.strategy = StrategyKind::single, .ranks = 1});
  study.add({.strategy = StrategyKind::ddp, .ranks = 2});
  study.add({.strategy = StrategyKind::data_parallel, .ranks = 2});
  const auto series = scaling_of(study.read());
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].steps[0].ranks, 1);
}

TEST(Scaling, MachinesDoNotMix) {
  MadeStudy study;
  study.add({.ranks = 1, .hardware = "old device"});
  study.add({.ranks = 2, .hardware = "new device"});
  const Study read = study.read();
  EXPECT_TRUE(scaling_of(read).empty());
  EXPECT_THAT(read.notes, Contains(HasSubstr("2 machines")));
}

TEST(StudyRuns, ABrokenRunIsNamedAndTheOthersRead) {
  MadeStudy study;
  study.add({.ranks = 1});
  const auto newer = study.add({.ranks = 2});
  std::ofstream(newer / "record.json") << R"({"schema": 99})";
  const auto half = study.add({.ranks = 4});
  std::filesystem::remove(half / "record.json");
  const Study read = study.read();
  EXPECT_EQ(read.runs.size(), 2u);
  EXPECT_THAT(read.notes, Contains(HasSubstr("has schema 99")));
  EXPECT_THAT(read.notes, Contains(HasSubstr("half written")));
}

std::string complaint(const std::string& path) {
  try {
    read_runs(std::vector<std::string>{path});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(StudyRuns, AnEmptyStudyIsOneClearWord) {
  MadeStudy study;
  EXPECT_THAT(complaint(study.path().string()),
              HasSubstr("is not a run folder and holds none"));
  EXPECT_THAT(complaint((study.path() / "nowhere").string()),
              HasSubstr("is not a folder"));
}

TEST(StudyRuns, ANamedRunThatCannotBeReadIsAnError) {
  MadeStudy study;
  const auto run = study.add({.ranks = 1});
  std::ofstream(run / "steps.csv", std::ios::app) << "1,2,three\n";
  EXPECT_THAT(complaint(run.string()), HasSubstr("steps.csv:"));
}

// A ledger of four points, one for each way not to be timed.
void write_ledger(const std::filesystem::path& study, const std::string& run) {
  std::ofstream ledger(study / "ledger.jsonl");
  const auto say = [&](const char* name, const char* point, Json event) {
    event["event"] = name, event["time_utc"] = "", event["host"] = "h";
    if (*point) event["point"] = point;
    ledger << event.dump() << "\n";
  };
  const auto queue = [&](const char* point, int ranks, const char* mode) {
    const Json axes = {{"model", "linear"}, {"strategy", "ddp"},
                       {"ranks", ranks},    {"global_batch", 32 * ranks},
                       {"per_rank", 32},    {"arm", ""}};
    say("queued", point,
        {{"settings", Json::object()},
         {"axes", axes},
         {"mode", mode},
         {"why", ""}});
  };
  say("study", "",
      {{"schema", 1},
       {"title", "A made study"},
       {"kind", ""},
       {"measure", "time"},
       {"points", 4},
       {"version", "0"},
       {"command", "lockstep sweep made.toml"}});
  queue("four", 4, "correctness");
  queue("eight", 8, "predicted");
  queue("big", 2, "timed");
  queue("later", 16, "timed");
  say("done", "four",
      {{"repeat", 1},
       {"run", run},
       {"seconds", 1.0},
       {"timed", false},
       {"result", Json::object()}});
  say("predicted", "eight",
      {{"from", "this study's measured points"},
       {"step_s", 0.02},
       {"epoch_s", 0.16},
       {"lo90_s", 0.14},
       {"hi90_s", 0.19}});
  say("failed", "big",
      {{"repeat", 1},
       {"run", "runs/big/1"},
       {"seconds", 1.0},
       {"why", "does not fit"},
       {"message", "out of memory"}});
}

TEST(StudyRuns, TheLedgerNamesPointsThatAreNotForTiming) {
  MadeStudy study;
  const auto run = study.add({.ranks = 4});
  study.add({.ranks = 1});
  write_ledger(study.path(), "runs/" + run.filename().string());
  const Study read = study.read();
  EXPECT_EQ(read.title, "A made study");
  EXPECT_EQ(read.command, "lockstep sweep made.toml");
  std::map<std::int64_t, const StudyPoint*> at;
  for (const StudyPoint& p : read.points) at[p.ranks] = &p;
  ASSERT_TRUE(at[4] && at[8] && at[2]);
  EXPECT_EQ(at[4]->origin, Origin::correctness);
  EXPECT_EQ(at[8]->origin, Origin::predicted);
  EXPECT_EQ(at[8]->epoch_high_s, 0.19);
  EXPECT_TRUE(std::isnan(at[8]->pieces.exposed_comm_s));
  EXPECT_TRUE(std::isnan(at[2]->epoch_s));
  EXPECT_EQ(at[2]->why, "does not fit");
  EXPECT_THAT(read.notes, Contains(HasSubstr("does not fit")));
  EXPECT_THAT(read.notes, Contains(HasSubstr("1 of 4 points have not run")));
  // Never a speed-up from what was run for correctness only.
  for (const ScalingSeries& series : scaling_of(read))
    for (const ScalingStep& step : series.steps) EXPECT_NE(step.ranks, 4);
}

TEST(StudyRuns, LossesThatAreNotNumbersAreCounted) {
  MadeStudy study;
  study.add({.ranks = 1, .diverges = true});
  EXPECT_THAT(study.read().notes, Contains(HasSubstr("diverged")));
}

TEST(StudyRuns, OneTimedStepHasNoInterval) {
  MadeStudy study;
  study.add({.ranks = 1, .steps = 1});
  const Study read = study.read();
  EXPECT_GT(read.points[0].step.value, 0);
  EXPECT_TRUE(std::isnan(read.points[0].step.low));
  EXPECT_THAT(read.runs[0].notes, Contains(HasSubstr("one timed step")));
}

}  // namespace
}  // namespace lockstep
