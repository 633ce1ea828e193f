// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Goal with(TargetEvidence evidence) {
  Goal goal;
  goal.evidence = std::move(evidence);
  goal.evidence_from = "made";
  return goal;
}

TargetEvidence two_batches() {
  return {.model = "resnet18",
          .accuracy = 0.9,
          .batches = {{128, 0.1, 1e6, 3, 3}, {512, 0.4, 1.5e6, 3, 3}}};
}

TEST(Target, WithoutANoiseScaleOnlyMeasuredBatchesAreKnown) {
  const Goal goal = to_target(with(two_batches()), 100);
  EXPECT_EQ(goal.base_batch, 128);
  EXPECT_EQ(goal.samples, 1e6);
  EXPECT_EQ(goal.base_lr, 0.1);
  EXPECT_THAT(target_batches(goal, {}), ElementsAre(128, 512));
  EXPECT_THROW(target_batches(goal, {256}), Error);
}

TEST(Target, AFittedNoiseScaleEvensOutTheRuns) {
  TargetEvidence e = two_batches();
  e.noise_scale = 1000, e.noise_fitted = true, e.min_examples = 9e5;
  const Goal goal = to_target(with(e), 128);
  EXPECT_NEAR(goal.samples, 9e5 * 1.128, 1);
  EXPECT_THAT(target_batches(goal, {}), Contains(2048));
  // What the user measured goes before it.
  Goal told = with(e);
  told.noise_scale = 50;
  told = to_target(told, 128);
  EXPECT_EQ(told.noise_scale, 50);
  EXPECT_EQ(told.samples, 1e6);
}

Advice advice_for(const Goal& goal) {
  Grid grid;
  grid.clusters = {find_cluster("dgx-1v")};
  grid.methods = {Method::ddp};
  grid.ranks = {8};
  grid.batches = {128, 512};
  grid.asked.scaling = Scaling::strong;
  grid.software = find_software("lockstep");
  return advise(find_subject("resnet18"), grid, goal);
}

TEST(Target, TimeIsStepsToTheTargetTimesTheStep) {
  TargetEvidence e = two_batches();
  const Advice a = advice_for(to_target(with(e), 128));
  for (const Choice& c : a.ranking) {
    const auto batch = c.prediction.question.global_batch();
    const double samples = batch == 128 ? 1e6 : 1.5e6;
    EXPECT_NEAR(c.time_s,
                samples / static_cast<double>(batch) * c.prediction.time.step_s,
                1e-6);
    EXPECT_EQ(c.lr, batch == 128 ? 0.1 : 0.4);
  }
  EXPECT_THAT(a.sentence, HasSubstr("accuracy 0.9 after"));
  EXPECT_THAT(a.evidence, Contains(HasSubstr("nothing was repeated")));
}

TEST(Target, SpreadBetweenRunsWidensTheInterval) {
  TargetEvidence e = two_batches();
  const Choice narrow = advice_for(to_target(with(e), 128)).choice;
  e.log_half_90 = 0.5;
  const Choice wide = advice_for(to_target(with(e), 128)).choice;
  EXPECT_EQ(wide.time_s, narrow.time_s);
  const double before = std::log(narrow.hi90_s / narrow.time_s);
  EXPECT_NEAR(std::log(wide.hi90_s / wide.time_s), std::hypot(before, 0.5),
              1e-9);
}

}  // namespace
}  // namespace lockstep
