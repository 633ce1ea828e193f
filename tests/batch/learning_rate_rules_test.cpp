// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/learning_rate_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Goyal et al.: 0.1 at 256 becomes 3.2 at 8192.
TEST(LearningRateRules, LinearAndSquareRoot) {
  EXPECT_DOUBLE_EQ(linear_lr(0.1, 256, 8192), 3.2);
  EXPECT_DOUBLE_EQ(square_root_lr(0.1, 256, 1024), 0.2);
  EXPECT_THROW(linear_lr(0.1, 0, 64), Error);
}

TEST(LearningRateRules, LegwStretchesTheWarmupToo) {
  const Legw l = legw(0.1, 0.625, 256, 4096);
  EXPECT_DOUBLE_EQ(l.lr, 0.4);
  EXPECT_DOUBLE_EQ(l.warmup_epochs, 10);
}

RC_GTEST_PROP(LearningRateRules, AdaScaleLiesBetweenOneAndTheScale, ()) {
  const double noise = *rc::gen::inRange(1, 100000);
  const double base = *rc::gen::inRange(1, 1000);
  const double scale = 1 + *rc::gen::inRange(0, 640) / 10.0;
  const double gain = adascale_gain_of_noise(noise, base, scale * base);
  RC_ASSERT(gain >= 1 - 1e-12);
  RC_ASSERT(gain <= scale + 1e-12);
  // The two forms are one: phi = M0 variance / |G|^2.
  RC_ASSERT(std::abs(adascale_gain(noise / base, 1, scale) - gain) <
            1e-9 * gain);
}

TEST(LearningRateRules, AdaScaleIsLinearInPureNoiseAndOneWithoutIt) {
  EXPECT_DOUBLE_EQ(adascale_gain(1, 0, 8), 8);
  EXPECT_NEAR(adascale_gain(1e-6, 1, 8), 1, 1e-5);
  EXPECT_DOUBLE_EQ(
      adascale_gain_of_noise(std::numeric_limits<double>::infinity(), 32, 256),
      8);
  EXPECT_THROW(adascale_gain(0, 1, 8), Error);
}

TEST(LearningRateRules, WarmupEndsAtTheScaledRateAndStaysThere) {
  const Warmup w{.from_lr = 0.1, .to_lr = 3.2, .warmup = 5};
  EXPECT_DOUBLE_EQ(warmup_lr(w, 0), 0.1);
  EXPECT_DOUBLE_EQ(warmup_lr(w, 2.5), 1.65);
  EXPECT_DOUBLE_EQ(warmup_lr(w, 5), 3.2);
  EXPECT_DOUBLE_EQ(warmup_lr(w, 90), 3.2);
  EXPECT_DOUBLE_EQ(warmup_lr({0.1, 3.2, 0}, 0), 3.2);
}

TEST(LearningRateRules, MomentumFollowsARateInsideTheBuffer) {
  EXPECT_DOUBLE_EQ(momentum_correction(0.1, 0.3), 3);
  EXPECT_THROW(momentum_correction(0, 0.3), Error);
}

}  // namespace
}  // namespace lockstep
