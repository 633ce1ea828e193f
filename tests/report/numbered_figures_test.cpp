// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/numbered_figures.h"

#include <gtest/gtest.h>

#include "lockstep/report/seed_gpus.h"

namespace lockstep {
namespace {

StudyPoint figure_point(const std::string& strategy, std::int64_t ranks,
                        std::int64_t batch, double epoch_s,
                        Origin origin = Origin::measured) {
  StudyPoint p{.model = "linear",
               .strategy = strategy,
               .device = "cpu",
               .hardware = {},
               .arm = {}};
  p.ranks = ranks, p.global_batch = batch, p.per_rank = batch / ranks;
  p.epoch_s = epoch_s, p.step = single_value(epoch_s / 100), p.origin = origin;
  return p;
}

Study at_20_and_30() {
  Study study{.paths = {}, .kind = "stevens"};
  study.points = {figure_point("single", 1, 20, 0.5),
                  figure_point("data_parallel", 2, 20, 2.0),
                  figure_point("data_parallel", 4, 20, 2.5, Origin::predicted),
                  figure_point("ddp", 2, 20, 1.0),
                  figure_point("ddp", 2, 30, 0.9),
                  figure_point("single", 1, 30, 0.4)};
  return study;
}

const NumberedFigure& figure(const std::vector<NumberedFigure>& all,
                             int number) {
  for (const NumberedFigure& f : all)
    if (f.number == number) return f;
  throw Error(Fault::internal, std::to_string(number), "no such figure");
}

const FigureTime* time_in(const NumberedFigure& f, bool here,
                          const std::string& name, std::int64_t ranks,
                          std::int64_t batch) {
  for (const FigureTime& t : f.times)
    if (t.here == here && t.name == name && t.ranks == ranks &&
        t.global_batch == batch)
      return &t;
  return nullptr;
}

TEST(NumberedFigures, BarsHoldTheSeedsTimesThePredictionAndEveryWayHere) {
  const auto figures = numbered_figures(at_20_and_30());
  ASSERT_EQ(figures.size(), 10u);
  const NumberedFigure& three = figure(figures, 3);
  EXPECT_EQ(three.title(), "Figure 3 of the seed: linear at batch 20");
  // reference: the seed's public repository, linear on 4 GPUs at batch 20
  EXPECT_DOUBLE_EQ(time_in(three, false, "the seed", 4, 20)->epoch_s, 4.662555);
  const FigureTime* guess =
      time_in(three, false, "predicted for its GPUs", 3, 20);
  ASSERT_NE(guess, nullptr);
  EXPECT_EQ(guess->origin, Origin::predicted);
  EXPECT_DOUBLE_EQ(guess->epoch_s, SeedGpus().epoch_s("linear", 3, 20));
  EXPECT_EQ(time_in(three, true, "data_parallel", 2, 20)->epoch_s, 2.0);
  EXPECT_EQ(time_in(three, true, "data_parallel", 4, 20)->origin,
            Origin::predicted);
  EXPECT_EQ(time_in(three, true, "ddp", 2, 20)->epoch_s, 1.0);
  EXPECT_EQ(time_in(three, true, "ddp", 2, 30), nullptr);
}

TEST(NumberedFigures, LinesTakeTheSeedsWayAndEveryBatch) {
  const auto figures = numbered_figures(at_20_and_30());
  const NumberedFigure& eleven = figure(figures, 11);
  EXPECT_NE(time_in(eleven, true, "single", 1, 30), nullptr);
  EXPECT_NE(time_in(eleven, true, "data_parallel", 2, 20), nullptr);
  EXPECT_EQ(time_in(eleven, true, "ddp", 2, 30), nullptr);
  EXPECT_NE(time_in(eleven, false, "the seed", 2, 600), nullptr);
}

TEST(NumberedFigures, WhatTheStudyHasNoPointOfIsNamedNotDrawn) {
  const auto figures = numbered_figures(at_20_and_30());
  EXPECT_TRUE(figure(figures, 4).times.empty());
  EXPECT_TRUE(figure(figures, 12).times.empty());
  const std::string said = figures_not_drawn(figures);
  EXPECT_NE(said.find("4 (linear at 50)"), std::string::npos) << said;
  EXPECT_NE(said.find("12 (conv1d)"), std::string::npos) << said;
  EXPECT_EQ(said.find(" 3 ("), std::string::npos) << said;
  EXPECT_EQ(to_json(figures).size(), 2u);  // 3 and 11
  EXPECT_TRUE(numbered_figures(Study{.paths = {}, .kind = "hpml"}).empty());
}

TEST(NumberedFigures, AMeasuredTimeWinsOverAPredictedOne) {
  Study study = at_20_and_30();
  study.points.insert(study.points.begin(), figure_point("data_parallel", 2, 20,
                                                         9, Origin::predicted));
  const auto figures = numbered_figures(study);
  EXPECT_EQ(time_in(figure(figures, 3), true, "data_parallel", 2, 20)->epoch_s,
            2.0);
}

// The seed's 2, 3 and 4 GPUs took the same time: what is predicted for them
// passes gradients on as NCCL does.
TEST(NumberedFigures, TheSeedsGpusAreAlikeFromTwoOn) {
  SeedGpus gpus;
  EXPECT_NEAR(gpus.epoch_s("linear", 4, 20) / gpus.epoch_s("linear", 2, 20), 1,
              0.15);
}

TEST(NumberedFigures, ATimeIsFoundByItsFigures) {
  EXPECT_EQ(figures_with("linear", 20), "Figures 3 and 11");
  EXPECT_EQ(figures_with("conv1d", 300), "Figures 10 and 12");
  EXPECT_EQ(figures_with("conv1d", 10), "Figure 12");
}

}  // namespace
}  // namespace lockstep
