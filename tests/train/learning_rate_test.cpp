// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

// Goyal et al. 2017: 0.1 at batch 256, five epochs from 0.1 to 0.1 x 8192/256.
const OptimConfig kGoyal{.lr = 0.1,
                         .warmup_epochs = 5,
                         .warmup_from = WarmupFrom::base,
                         .lr_rule = LrRule::linear,
                         .base_batch = 256};

TEST(LearningRate, TheLinearRuleWarmsUpFromTheUnscaledRate) {
  const auto at = [](double epoch) {
    return learning_rate_at(
        kGoyal, {.epoch = epoch, .total_epochs = 90, .global_batch = 8192});
  };
  EXPECT_DOUBLE_EQ(at(0), 0.1);
  EXPECT_DOUBLE_EQ(at(2.5), (0.1 + 3.2) / 2);
  EXPECT_DOUBLE_EQ(at(5), 3.2);
  EXPECT_DOUBLE_EQ(at(80), 3.2);
}

TEST(LearningRate, TheSquareRootRule) {
  OptimConfig c{.lr = 0.1, .lr_rule = LrRule::square_root, .base_batch = 32};
  EXPECT_DOUBLE_EQ(learning_rate_at(c, {.global_batch = 128}), 0.2);
  c.lr_rule = LrRule::none;
  EXPECT_DOUBLE_EQ(learning_rate_at(c, {.global_batch = 128}), 0.1);
}

TEST(LearningRate, LegwMakesWarmUpAsLongAsTheScale) {
  const OptimConfig c{.lr = 0.1,
                      .warmup_epochs = 0.5,
                      .lr_rule = LrRule::legw,
                      .base_batch = 32};
  const RatePoint middle{.epoch = 1, .total_epochs = 10, .global_batch = 128};
  EXPECT_DOUBLE_EQ(ruled(c, 128).warmup_epochs, 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(c, middle), 0.1);
}

TEST(LearningRate, AdaScalesGainMultipliesAndAdamTakesItsRoot) {
  OptimConfig c{.lr = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate_at(c, {.gain = 4}), 0.4);
  c.kind = OptimKind::adam;
  EXPECT_DOUBLE_EQ(learning_rate_at(c, {.gain = 4}), 0.2);
}

}  // namespace
}  // namespace lockstep
