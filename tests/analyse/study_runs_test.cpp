// SPDX-License-Identifier: Apache-2.0
// Studies made here, as the trainer writes run folders: points, scaling, and a
// clear word for whatever is broken.
#include "lockstep/analyse/study_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lockstep/analyse/scaling.h"
#include "lockstep/core/error.h"
#include "tests/analyse/made_study.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;

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
  EXPECT_THAT(complaint(study.path().string()), HasSubstr("holds no run"));
  EXPECT_THAT(complaint((study.path() / "nowhere").string()),
              HasSubstr("is not a folder"));
}

TEST(StudyRuns, ANamedRunThatCannotBeReadIsAnError) {
  MadeStudy study;
  const auto run = study.add({.ranks = 1});
  std::ofstream(run / "steps.csv", std::ios::app) << "1,2,three\n";
  EXPECT_THAT(complaint(run.string()), HasSubstr("steps.csv:"));
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
