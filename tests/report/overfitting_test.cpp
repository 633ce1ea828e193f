// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/overfitting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

RunFacts learnt_run(std::vector<double> val_loss, double train, double val) {
  RunFacts run;
  run.validation_samples = 400;
  for (const double loss : val_loss) {
    EpochSample e{.epoch = static_cast<std::int64_t>(run.epochs.size())};
    e.train_accuracy = train, e.val_accuracy = val, e.val_loss = loss;
    run.epochs.push_back(e);
  }
  return run;
}

Json rows_of(std::vector<RunFacts> runs) {
  Study study{.paths = {}, .runs = std::move(runs)};
  StudyPoint point;
  for (std::size_t i = 0; i < study.runs.size(); ++i) point.runs.push_back(i);
  study.points = {point};
  return to_json(overfitting_table(study))["rows"];
}

TEST(Overfitting, TheGapAndTheTurnAreMeansOverSeeds) {
  // Mean losses 1.1, 0.65, 0.7, 0.9: lowest in the second epoch, though one
  // seed alone turns in the third.
  const Json rows = rows_of({learnt_run({1.0, 0.6, 0.8, 1.0}, 0.9, 0.6),
                             learnt_run({1.2, 0.7, 0.6, 0.8}, 1.0, 0.8)});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["runs"], 2);
  EXPECT_EQ(rows[0]["epochs"], 4);
  EXPECT_NEAR(rows[0]["train_accuracy"], 0.95, 1e-12);
  EXPECT_NEAR(rows[0]["val_accuracy"], 0.70, 1e-12);
  EXPECT_NEAR(rows[0]["gap"], 0.25, 1e-12);
  // Two standard errors of 70 % of 400.
  EXPECT_NEAR(rows[0]["noise"], 2 * std::sqrt(0.7 * 0.3 / 400), 1e-12);
  EXPECT_EQ(rows[0]["turn_epoch"], 2);
  EXPECT_NEAR(rows[0]["lowest_val_loss"], 0.65, 1e-12);
  EXPECT_NEAR(rows[0]["final_val_loss"], 0.90, 1e-12);
  EXPECT_EQ(rows[0]["note"], "");
}

TEST(Overfitting, ALossLowestAtTheEndDidNotTurn) {
  const Json rows = rows_of({learnt_run({1.0, 0.9, 0.8}, 0.9, 0.6)});
  EXPECT_EQ(rows[0]["turn_epoch"], 3);
  EXPECT_EQ(rows[0]["note"], "it did not turn");
}

TEST(Overfitting, ANetThatLearntNothingIsNamed) {
  RunFacts run = learnt_run({1.0, 2.0}, 0.25, 0.22);
  run.classes = 5;
  EXPECT_EQ(rows_of({run})[0]["note"], "no better than a guess");
  run.classes = 10;
  EXPECT_EQ(rows_of({run})[0]["note"], "");
}

TEST(Overfitting, NothingIsSaidOfOneEvaluationOrNone) {
  const double none = std::nan("");
  EXPECT_TRUE(rows_of({learnt_run({1.0}, 0.9, 0.6)}).empty());
  EXPECT_TRUE(rows_of({learnt_run({none, none, none}, 0.9, none)}).empty());
  EXPECT_TRUE(rows_of({}).empty());
}

TEST(Overfitting, EpochsInBetweenMayGoWithoutEvaluation) {
  const double none = std::nan("");
  const Json rows = rows_of({learnt_run({1.0, none, 0.7, none, 0.8}, 0.9, 0.6),
                             learnt_run({1.0, 0.1, 0.7, none, 0.8}, 0.9, 0.6)});
  EXPECT_EQ(rows[0]["turn_epoch"], 3);
}

TEST(Overfitting, ARunThatDivergedIsCountedApart) {
  const Json rows =
      rows_of({learnt_run({1.0, 0.7, 0.8}, 0.9, 0.6),
               learnt_run({1.0, 0.7, std::nan("")}, std::nan(""), 0.1)});
  EXPECT_EQ(rows[0]["runs"], 1);
  EXPECT_EQ(rows[0]["note"], "1 more run(s) lost their numbers");
}

}  // namespace
}  // namespace lockstep
