// SPDX-License-Identifier: Apache-2.0
// Golden values of section 2.1: steps to accuracy in Pollux's ResNet-18 /
// CIFAR-10 traces and the hyperbola through them. The published fit stopped
// early at 0.94: SciPy's optimum there is 3317.6 with 1005.1 steps.
#include "lockstep/batch/critical_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct GoldenFit {
  std::array<double, 6> steps;  // at 128, 256, ... 4096
  double critical, min_steps, min_epochs, rms;
};

const std::array<GoldenFit, 4> kGoldenFits = {{
    {{4687, 3286, 2344, 1279, 992, 772}, 923, 680, 12.5, 0.117},
    {{10156, 6543, 4135, 2749, 1491, 1151}, 1611, 889, 28.6, 0.120},
    {{21874, 12322, 6469, 3734, 2228, 1568}, 3201, 883, 56.5, 0.027},
    {{26171, 14884, 7265, 4285, 2655, 1810}, 3331, 1002, 66.8, 0.031},
}};

std::vector<StepsToTarget> points(const std::array<double, 6>& steps) {
  std::vector<StepsToTarget> out;
  double batch = 128;
  for (const double s : steps) {
    out.push_back({batch, s});
    batch *= 2;
  }
  return out;
}

TEST(CriticalBatch, PublishedTracesFitToThreePerCentAtTheEnd) {
  for (const GoldenFit& g : kGoldenFits) {
    const CriticalBatch fit = fit_critical_batch(points(g.steps));
    EXPECT_NEAR(fit.batch / g.critical, 1, 5e-3);
    EXPECT_NEAR(fit.min_steps / g.min_steps, 1, 4e-3);
    EXPECT_NEAR(fit.min_examples / 50000 / g.min_epochs, 1, 5e-3);
    EXPECT_NEAR(fit.rms_log_error, g.rms, 6e-4);
    EXPECT_TRUE(fit.bends);
    EXPECT_LT(fit.low, fit.batch);
    EXPECT_GT(fit.high, fit.batch);
  }
}

TEST(CriticalBatch, AgreesWithScipyToTheDigits) {
  const CriticalBatch fit = fit_critical_batch(points(kGoldenFits[3].steps));
  EXPECT_NEAR(fit.batch, 3317.59071574, 0.01);
  EXPECT_NEAR(fit.min_steps, 1005.14156224, 0.01);
}

RC_GTEST_PROP(CriticalBatch, FindsAnExactHyperbola, ()) {
  const double critical = *rc::gen::inRange(100, 20000);
  const double min_steps = *rc::gen::inRange(10, 100000);
  std::vector<StepsToTarget> p;
  for (double b = 128; b <= 8192; b *= 2)
    p.push_back({b, min_steps * (1 + critical / b)});
  const CriticalBatch fit = fit_critical_batch(p);
  RC_ASSERT(std::abs(fit.batch / critical - 1) < 1e-4);
  RC_ASSERT(std::abs(fit.min_steps / min_steps - 1) < 1e-4);
}

TEST(CriticalBatch, TheIntervalHoldsTheTruthMostTimes) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<StepsToTarget> p;
    for (double b = 64; b <= 8192; b *= 2)
      p.push_back(
          {b, 900 * (1 + 1500 / b) * std::exp(0.05 * draw_normal(random))});
    const CriticalBatch fit = fit_critical_batch(p);
    held += fit.low <= 1500 && 1500 <= fit.high;
  }
  EXPECT_GE(held, 75);  // 90 % less what six degrees of freedom cost
}

TEST(CriticalBatch, ASweepWithoutABendSaysSo) {
  std::vector<StepsToTarget> perfect, flat;
  for (double b = 32; b <= 256; b *= 2) {
    perfect.push_back({b, 1e6 / b});
    flat.push_back({b, 1000});
  }
  EXPECT_FALSE(fit_critical_batch(perfect).bends);
  EXPECT_FALSE(fit_critical_batch(flat).bends);
}

TEST(CriticalBatch, TwoBatchSizesAreRefused) {
  const std::vector<StepsToTarget> two = {{32, 100}, {64, 60}, {64, 61}};
  EXPECT_THROW(fit_critical_batch(two), Error);
  const std::vector<StepsToTarget> nan = {
      {32, 100}, {64, std::nan("")}, {128, 30}};
  EXPECT_THROW(fit_critical_batch(nan), Error);
}

}  // namespace
}  // namespace lockstep
