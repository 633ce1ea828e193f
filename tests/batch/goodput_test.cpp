// SPDX-License-Identifier: Apache-2.0
// The step-time lines are the plain fits to Pollux's ResNet-18 placements on
// T4 (section 3.2); the batch sizes follow from them at phi = 3300.
#include "lockstep/batch/goodput.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct GoldenGoodput {
  std::int64_t ranks;
  LinearStepTime step;
  double goodput, goodput_1000, goodput_6000, channel;
};

const std::array<GoldenGoodput, 5> kGoldenGoodput = {{
    {1, {0.02038, 0.000650}, 322, 177, 434, 465},
    {2, {0.02153, 0.000741}, 438, 241, 590, 638},
    {4, {0.02889, 0.000685}, 746, 411, 1006, 1110},
    {8, {0.14305, 0.000570}, 2574, 1417, 3471, 4261},
    {16, {0.11647, 0.000515}, 3456, 1902, 4659, 5983},
}};

TEST(Goodput, ClosedFormOnPublishedStepTimes) {
  for (const GoldenGoodput& g : kGoldenGoodput) {
    EXPECT_NEAR(best_goodput_batch(g.step, g.ranks, 3300) / g.goodput, 1, 2e-3);
    EXPECT_NEAR(best_goodput_batch(g.step, g.ranks, 1000) / g.goodput_1000, 1,
                4e-3);
    EXPECT_NEAR(best_goodput_batch(g.step, g.ranks, 6000) / g.goodput_6000, 1,
                2e-3);
  }
}

TEST(Goodput, GradientChannelOnPublishedStepTimes) {
  for (const GoldenGoodput& g : kGoldenGoodput)
    EXPECT_NEAR(best_channel_batch(g.step, g.ranks, 3300) / g.channel, 1, 2e-3);
}

// The homework's one GPU: 173, 585, 2158 ms at 32, 128, 512: a/b is only 8 to
// 15 examples, so B* is about 160 to 220.
TEST(Goodput, ASaturatedGpuGainsLittleFromLargeBatches) {
  const std::array<StepTime, 3> points = {
      {{32, 0.173}, {128, 0.585}, {512, 2.158}}};
  const LinearStepTime line = fit_linear_step_time(points);
  EXPECT_GT(best_goodput_batch(line, 1, 3300), 150);
  EXPECT_LT(best_goodput_batch(line, 1, 3300), 230);
}

RC_GTEST_PROP(Goodput, SearchAgreesWithTheClosedForm, ()) {
  const LinearStepTime step{*rc::gen::inRange(1, 100) * 1e-3,
                            *rc::gen::inRange(1, 100) * 1e-5, 0};
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 65);
  const double noise = *rc::gen::inRange(50, 20000);
  const double exact = best_goodput_batch(step, ranks, noise);
  const double k = static_cast<double>(ranks);
  const BestBatch found =
      search_goodput([&](double batch) { return step.at(batch / k); }, noise,
                     32, {exact / 20, exact * 20});
  const double spacing = std::pow(400, 1.0 / 49);
  RC_ASSERT(found.batch < exact * spacing);
  RC_ASSERT(found.batch > exact / spacing);
}

RC_GTEST_PROP(Goodput, EfficiencyFallsFromOneWithTheBatch, ()) {
  const double noise = *rc::gen::inRange(1, 100000);
  const double batch = *rc::gen::inRange(32, 100000);
  const double e = statistical_efficiency(noise, 32, batch);
  RC_ASSERT(e > 0 && e <= 1);
  RC_ASSERT(statistical_efficiency(noise, 32, 2 * batch) < e);
  RC_ASSERT(std::abs(goodput(100, noise, 32, batch) - 100 * e) < 1e-9);
}

// The root of 2 above goodput for a small fixed cost.
TEST(Goodput, TheChannelAsksForRootTwoMoreWhenStepsAreCheap) {
  const LinearStepTime step{1e-7, 1e-3};
  EXPECT_NEAR(
      best_channel_batch(step, 1, 1e4) / best_goodput_batch(step, 1, 1e4),
      std::sqrt(2), 1e-3);
  EXPECT_NEAR(gradient_channel_nats(3300, 3300), 0.5 * std::log(2), 1e-15);
}

TEST(Goodput, WithoutAFixedCostTheSmallestBatchIsBest) {
  EXPECT_EQ(best_goodput_batch({0, 1e-3}, 4, 1000), 0);
  EXPECT_EQ(best_goodput_batch({-1e-3, 1e-3}, 4, 1000), 0);
}

TEST(Goodput, BadInputIsRefused) {
  EXPECT_THROW(best_goodput_batch({0.1, 0}, 1, 100), Error);
  EXPECT_THROW(best_goodput_batch({0.1, 0.1}, 1, std::nan("")), Error);
  EXPECT_THROW(statistical_efficiency(-1, 32, 64), Error);
  EXPECT_THROW(statistical_efficiency(100, 0, 64), Error);
  EXPECT_THROW(search_goodput([](double) { return 1.0; }, 1, 1, {2, 1}), Error);
}

}  // namespace
}  // namespace lockstep
