// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace lockstep {
namespace {

constexpr Assumptions kExact = {.contention = 0, .jitter = 0};

StepPlan step_plan(std::vector<TimedMessage> messages) {
  return {.ranks = 2,
          .passes = 1,
          .forward_s = 1,
          .backward_s = 2,
          .overlapped = std::move(messages)};
}

TEST(Timeline, WithoutMessagesAStepIsItsCompute) {
  const StepParts t = simulate(step_plan({}), kExact);
  EXPECT_DOUBLE_EQ(t.step_s, 3);
  EXPECT_DOUBLE_EQ(t.exposed_comm_s, 0);
}

// Gradients at 0.5 and 2 s of backward; the first message hides, the second
// begins when backward ends.
TEST(Timeline, OnlyTheLastBucketIsExposed) {
  const StepParts t = simulate(step_plan({{0.5, 0, 1}, {2, 0, 0.25}}), kExact);
  EXPECT_DOUBLE_EQ(t.exposed_comm_s, 0.25);
  EXPECT_DOUBLE_EQ(t.step_s, 3.25);
  EXPECT_DOUBLE_EQ(t.comm_s, 1.25);
}

TEST(Timeline, OneMessageAtATimeOnTheLink) {
  // 0.5 + 2 = 2.5, then the second of 1 ends at 3.5: 1.5 after backward.
  const StepParts t = simulate(step_plan({{0.5, 0, 2}, {1, 0, 1}}), kExact);
  EXPECT_DOUBLE_EQ(t.exposed_comm_s, 1.5);
}

// While the message of 1 s is in flight compute does 1/1.25 of its work.
TEST(Timeline, AMessageSlowsComputeDown) {
  Assumptions a = kExact;
  a.contention = 0.25;
  const StepParts t = simulate(step_plan({{0, 0, 1}}), a);
  EXPECT_NEAR(t.step_s, 1 + 2.2, 1e-12);
  EXPECT_NEAR(t.exposed_comm_s, 0.2, 1e-12);
}

TEST(Timeline, LatencyAndBandwidthAreTweakedApart) {
  Assumptions a = kExact;
  a.link = {.bandwidth = 2, .latency = 3};
  StepPlan p = step_plan({});
  p.serial_latency_s = 0.1;
  p.serial_transfer_s = 1;
  const StepParts t = simulate(p, a);
  EXPECT_NEAR(t.exposed_comm_s, 0.3 + 0.5, 1e-12);
  EXPECT_NEAR(t.latency_s, 0.3, 1e-12);
}

TEST(Timeline, TheLoaderIsAStageOfThePipeline) {
  StepPlan p = step_plan({});
  p.input_s = 2.5;
  EXPECT_DOUBLE_EQ(simulate(p, kExact).step_s, 3);
  p.input_s = 4;
  EXPECT_DOUBLE_EQ(simulate(p, kExact).step_s, 4);
  EXPECT_DOUBLE_EQ(simulate(p, kExact).input_wait_s, 1);
}

// Order statistics of the normal distribution: 0.5642 for 2, 1.0294 for 4,
// 1.4236 for 8, 2.5076 for 100 (Harter 1961); Blom is within 3 %.
TEST(Timeline, StragglersFollowOrderStatistics) {
  EXPECT_DOUBLE_EQ(expected_max_normal(1), 0);
  EXPECT_NEAR(expected_max_normal(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_max_normal(4), 1.0294, 0.02);
  EXPECT_NEAR(expected_max_normal(8), 1.4236, 0.015);
  EXPECT_NEAR(expected_max_normal(100), 2.5076, 0.01);
  Assumptions a = kExact;
  a.jitter = 0.1;
  StepPlan p = step_plan({});
  p.ranks = 8;
  EXPECT_NEAR(simulate(p, a).idle_s, 0.1 * 3 * 1.4236, 0.01);
  p.sync_every = 4;  // waits for the mean of four steps
  EXPECT_NEAR(simulate(p, a).idle_s, 0.1 * 3 * 1.4236 / 2, 0.01);
}

TEST(Timeline, AStepIsTheSumOfItsParts) {
  EXPECT_TRUE(rc::check("parts add up", [] {
    const auto share = [] { return *rc::gen::inRange(0, 1000) / 1000.0; };
    StepPlan p = step_plan({});
    p.ranks = *rc::gen::inRange(1, 64);
    p.passes = *rc::gen::inRange(1, 5);
    double ready = 0;
    for (int i = *rc::gen::inRange(0, 9); i > 0; --i) {
      ready += (2 - ready) * share();
      p.overlapped.push_back({ready, share() / 10, share()});
    }
    p.serial_latency_s = share(), p.input_s = 8 * share();
    const StepParts t =
        simulate(p, {.contention = share(), .jitter = share() / 5});
    RC_ASSERT(std::abs(t.compute_s + t.exposed_comm_s + t.idle_s +
                       t.input_wait_s - t.step_s) < 1e-9);
    RC_ASSERT(t.exposed_comm_s >= -1e-12);
    RC_ASSERT(t.latency_s <= t.exposed_comm_s + 1e-12);
    RC_ASSERT(t.step_s >= 3.0 * p.passes - 1e-9);
  }));
}

}  // namespace
}  // namespace lockstep
