// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

TEST(Schedule, ConstantNeverChanges) {
  const OptimConfig config{.lr = 0.3};
  EXPECT_EQ(learning_rate(config, 0, 10), 0.3);
  EXPECT_EQ(learning_rate(config, 9.99, 10), 0.3);
}

TEST(Schedule, StepDropsExactlyAtItsEpochs) {
  const OptimConfig config{
      .lr = 1, .schedule = ScheduleKind::step, .step_epochs = 30};
  EXPECT_DOUBLE_EQ(learning_rate(config, 29.999, 90), 1);
  EXPECT_DOUBLE_EQ(learning_rate(config, 30, 90), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(config, 60, 90), 0.01);
}

TEST(Schedule, CosineIsHalfWayInTheMiddle) {
  const OptimConfig config{
      .lr = 2, .schedule = ScheduleKind::cosine, .final_lr_share = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(config, 0, 10), 2);
  EXPECT_DOUBLE_EQ(learning_rate(config, 5, 10), 2 * 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 10), 2 * 0.1);
}

TEST(Schedule, LineRunsFromTheEndOfWarmUpToTheEndOfTraining) {
  const OptimConfig config{
      .lr = 1, .schedule = ScheduleKind::linear, .warmup_epochs = 2};
  EXPECT_DOUBLE_EQ(learning_rate(config, 2, 10), 1);
  EXPECT_DOUBLE_EQ(learning_rate(config, 6, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 10), 0);
}

TEST(Schedule, SquareFallsAsLarsWasPublishedWith) {
  const OptimConfig config{
      .lr = 8, .schedule = ScheduleKind::square, .warmup_epochs = 2};
  EXPECT_DOUBLE_EQ(learning_rate(config, 2, 10), 8);
  EXPECT_DOUBLE_EQ(learning_rate(config, 6, 10), 2);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 10), 0);
}

TEST(Schedule, ARangeTestRisesByTheSameFactorInEqualTimes) {
  const OptimConfig config{
      .lr = 10, .schedule = ScheduleKind::range, .range_from = 1e-3};
  EXPECT_NEAR(learning_rate(config, 0, 4), 1e-3, 1e-15);
  EXPECT_NEAR(learning_rate(config, 1, 4), 1e-2, 1e-14);
  EXPECT_NEAR(learning_rate(config, 2, 4), 1e-1, 1e-13);
  EXPECT_DOUBLE_EQ(learning_rate(config, 4, 4), 10);
}

TEST(Schedule, WarmUpRisesEvenlyToTheFullRate) {
  const OptimConfig config{.lr = 0.8, .warmup_epochs = 5};
  EXPECT_DOUBLE_EQ(learning_rate(config, 0, 90), 0);
  EXPECT_DOUBLE_EQ(learning_rate(config, 2.5, 90), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(config, 5, 90), 0.8);
}

RC_GTEST_PROP(Schedule, NeverLeavesTheRangeFromZeroToItsHighest,
              (int kind, unsigned short epoch, unsigned char warmup)) {
  const OptimConfig config{
      .lr = 0.7,
      .schedule = static_cast<ScheduleKind>(static_cast<unsigned>(kind) % 5),
      .warmup_epochs = warmup / 16.0};
  const double lr = learning_rate(config, epoch / 256.0, 100);
  RC_ASSERT(lr >= 0 && lr <= 0.7 + 1e-12);
}

}  // namespace
}  // namespace lockstep
