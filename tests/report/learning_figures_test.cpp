// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/learning_figures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

RunFacts learner(std::int64_t ranks, std::int64_t batch, const std::string& arm,
                 double accuracy) {
  RunFacts out;
  out.strategy = ranks == 1 ? "single" : "ddp";
  out.arm = arm;
  out.ranks = ranks;
  out.global_batch = batch;
  for (int e = 0; e < 3; ++e) {
    EpochSample sample;
    sample.epoch = e;
    sample.train_accuracy = 0.9;
    sample.val_accuracy = accuracy + 0.1 * e;
    sample.train_loss = 1;
    sample.val_loss = 2;
    out.epochs.push_back(sample);
  }
  return out;
}

Study study_of_002() {
  Study out{.paths = {"a"}, .kind = "qeios"};
  out.runs = {learner(1, 16, "fixed", 0.2), learner(1, 16, "fixed", 0.4),
              learner(1, 32, "fixed", 0.3), learner(2, 16, "fixed", 0.5),
              learner(4, 16, "fixed", 0.5), learner(1, 16, "linear", 0.1)};
  return out;
}

TEST(LearningFigures, ALineIsTheMeanOverSeedsWithItsBand) {
  const auto figures = learning_figures(study_of_002(), 0);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].title,
            "Figure 1 of the seed: one device, every batch (fixed)");
  ASSERT_EQ(figures[0].lines.size(), 2u);
  const LearningLine& line = figures[0].lines[0];
  EXPECT_EQ(line.name, "batch 16");
  EXPECT_EQ(line.runs, 2);
  const EpochBand& band = line.fields[1][2];  // val_accuracy
  EXPECT_NEAR(band.mean, 0.5, 1e-12);
  EXPECT_NEAR(band.low, 0.4, 1e-12);
  EXPECT_NEAR(band.high, 0.6, 1e-12);
}

TEST(LearningFigures, DevicesAreComparedAtOneBatchAndOneArm) {
  const auto figures = learning_figures(study_of_002(), 0);
  EXPECT_EQ(figures[1].title, "Figure 2 of the seed: batch 16 (fixed)");
  std::vector<std::string> names;
  for (const LearningLine& line : figures[1].lines) names.push_back(line.name);
  EXPECT_EQ(names, (std::vector<std::string>{"1 device", "2 devices, ddp",
                                             "4 devices, ddp"}));
}

TEST(LearningFigures, WhatInformationPicksIsFigureFour) {
  const auto figures = learning_figures(study_of_002(), 16);
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[2].title,
            "Figure 4 of the seed: the batch that information picks, here 16 "
            "(fixed)");
  EXPECT_EQ(learning_not_drawn(figures),
            "Figures of the seed for which this study holds nothing to "
            "compare, and which are not drawn: 3, 5, 6.");
}

TEST(LearningFigures, AnEpochNobodyReachedIsNullAndAShorterRunIsLeftOutOfIt) {
  Study study = study_of_002();
  study.runs[1].epochs.resize(2);
  study.runs[0].epochs[1].val_loss = std::nan("");
  study.runs[1].epochs[1].val_loss = std::nan("");
  const auto figures = learning_figures(study, 0);
  const LearningLine& line = figures[0].lines[0];
  EXPECT_NEAR(line.fields[1][2].mean, 0.4, 1e-12);
  const Json json = to_json(figures);
  EXPECT_TRUE(json[0]["lines"][0]["val_loss"][1][0].is_null());
  EXPECT_EQ(json[0]["lines"][0]["val_loss"][0][0], 2.0);
}

TEST(LearningFigures, OtherStudiesHaveNone) {
  Study study = study_of_002();
  study.kind = "hpml";
  EXPECT_TRUE(learning_figures(study, 16).empty());
  EXPECT_EQ(learning_not_drawn({}), "");
}

}  // namespace
}  // namespace lockstep
