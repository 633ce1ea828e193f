// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

Grid grid_on(const std::string& cluster, std::vector<int> ranks,
             std::vector<std::int64_t> batches) {
  Grid grid;
  grid.clusters = {find_cluster(cluster)};
  grid.methods = {Method::ddp};
  grid.ranks = std::move(ranks);
  grid.batches = std::move(batches);
  grid.asked.scaling = Scaling::strong;
  grid.software = find_software("lockstep");
  return grid;
}

const Question& chosen(const Advice& advice) {
  return advice.choice.prediction.question;
}

TEST(Advise, TheSeedsLinearModelStaysOnOneDevice) {
  const Advice a =
      advise(find_subject("linear"), grid_on("4x1080ti", {1, 2, 3, 4}, {10}),
             {.samples = 40'000, .base_batch = 10});
  EXPECT_EQ(chosen(a).ranks, 1);
  EXPECT_THAT(a.sentence, HasSubstr("Train linear on one GTX 1080 Ti"));
  EXPECT_THAT(a.sentence, HasSubstr("predicted"));
  ASSERT_TRUE(a.more_devices);
  EXPECT_EQ(a.more_devices->prediction.question.ranks, 2);
  EXPECT_GT(a.more_devices->time_s, a.choice.time_s);
  // The choke's remedies are priced one by one.
  std::vector<std::string> labels;
  for (const Choice& c : a.remedies) labels.push_back(c.label);
  EXPECT_THAT(labels, testing::Contains("local_sgd_8"));
  EXPECT_THAT(labels, testing::Contains("link_twice_as_fast"));
}

TEST(Advise, ALargeModelTakesAllDevices) {
  const Advice a =
      advise(find_subject("resnet50"), grid_on("dgx-a100", {1, 2, 4, 8}, {512}),
             {.samples = 1e6, .base_batch = 512});
  EXPECT_EQ(chosen(a).ranks, 8);
  EXPECT_FALSE(a.more_devices);
  ASSERT_TRUE(a.next_best);
  EXPECT_EQ(a.next_best->prediction.question.ranks, 4);
  EXPECT_TRUE(a.remedies.empty());
}

TEST(Advise, NearlyAsFastOnFewerDevicesIsBetter) {
  const Advice a =
      advise(find_subject("linear"), grid_on("dgx-a100", {1, 2, 4, 8}, {64}),
             {.samples = 1e6, .base_batch = 64});
  const double fastest = a.ranking.front().time_s;
  EXPECT_LE(a.choice.time_s, fastest * kNearlyAsFast);
  for (const Choice& c : a.ranking)
    if (c.time_s <= fastest * kNearlyAsFast) {
      EXPECT_GE(c.device_hours, a.choice.device_hours);
    }
}

TEST(Advise, ADeadlineIsKeptAsCheaplyAsPossible) {
  const Grid grid = grid_on("dgx-a100", {1, 2, 4, 8}, {512});
  const Subject subject = find_subject("resnet50");
  const Goal open{.samples = 1e6, .base_batch = 512};
  Goal goal = open;
  goal.deadline_s = advise(subject, grid, open).choice.time_s * 3;
  const Advice kept = advise(subject, grid, goal);
  EXPECT_TRUE(kept.goal_met);
  EXPECT_LT(chosen(kept).ranks, 8);
  EXPECT_LE(kept.choice.time_s, goal.deadline_s);
  goal.deadline_s = 1e-3;
  const Advice missed = advise(subject, grid, goal);
  EXPECT_FALSE(missed.goal_met);
  EXPECT_THAT(missed.sentence, HasSubstr("No configuration ends within"));
  EXPECT_EQ(chosen(missed).ranks, 8);
}

TEST(Advise, ABudgetRulesOutWhatCostsMore) {
  const Grid grid = grid_on("4x1080ti", {1, 2, 4}, {4096});
  const Subject subject = find_subject("resnet18");
  Goal goal{.samples = 1e6, .base_batch = 4096, .price_per_device_hour = 1};
  const Advice open = advise(subject, grid, goal);
  goal.budget = open.choice.money * 0.999;
  const Advice kept = advise(subject, grid, goal);
  if (kept.goal_met) {
    EXPECT_LE(kept.choice.money, goal.budget);
  }
  EXPECT_NE(chosen(kept).ranks, chosen(open).ranks);
  // Nothing is that cheap: the cheapest is nearest.
  goal.budget = 1e-9;
  const Advice missed = advise(subject, grid, goal);
  EXPECT_THAT(missed.sentence, HasSubstr("No configuration costs"));
  for (const Choice& c : missed.ranking)
    EXPECT_GE(c.money, missed.choice.money);
}

TEST(Advise, SaysHowMuchOfDeadlineAndBudgetIsUsed) {
  Goal goal{.samples = 1e6, .base_batch = 512, .price_per_device_hour = 2};
  goal.budget = 100, goal.deadline_s = 36000;
  const Advice a = advise(find_subject("resnet50"),
                          grid_on("dgx-a100", {1, 2, 4, 8}, {512}), goal);
  EXPECT_TRUE(a.goal_met);
  EXPECT_THAT(a.evidence, testing::Contains(testing::AllOf(
                              HasSubstr("deadline"), HasSubstr("budget"),
                              HasSubstr("at the interval's end"))));
}

// Progress (phi + M0) / (phi + B): with a small noise scale a larger batch is
// wasted, with a large one it is free.
TEST(Advise, TheNoiseScaleDecidesHowLargeABatchPays) {
  const Grid grid = grid_on("dgx-a100", {8}, {64, 512, 4096});
  const Subject subject = find_subject("resnet18");
  Goal goal{.samples = 1e6, .base_batch = 64, .base_lr = 0.1};
  goal.noise_scale = 10;
  const Advice noisy_no = advise(subject, grid, goal);
  goal.noise_scale = 1e6;
  const Advice noisy_yes = advise(subject, grid, goal);
  EXPECT_EQ(chosen(noisy_no).global_batch(), 64);
  EXPECT_EQ(chosen(noisy_yes).global_batch(), 4096);
  EXPECT_NEAR(noisy_yes.choice.progress, (1e6 + 64) / (1e6 + 4096), 1e-12);
  EXPECT_GT(noisy_yes.choice.lr, 0.1 * 60);
}

TEST(Advise, WithoutANoiseScaleItSaysSo) {
  const Advice a =
      advise(find_subject("resnet18"), grid_on("dgx-a100", {1, 2}, {128}),
             {.samples = 1e6, .base_batch = 128});
  EXPECT_THAT(a.evidence, testing::Contains(HasSubstr("noise scale unknown")));
  EXPECT_TRUE(std::isnan(a.choice.money));
}

TEST(Advise, NothingThatFitsIsAnError) {
  EXPECT_THROW(
      advise(find_subject("resnet50"), grid_on("4x1080ti", {1}, {1 << 20}),
             {.samples = 1e6, .base_batch = 32}),
      Error);
}

}  // namespace
}  // namespace lockstep
