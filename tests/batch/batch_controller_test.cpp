// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/batch_controller.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/batch/goodput.h"

namespace lockstep {
namespace {

// A pass of a + b m seconds, seen at two sizes.
BatchEvidence evidence(double a, double b, double noise, double base) {
  return {.pass_times = {{base, a + b * base}, {2 * base, a + 2 * b * base}},
          .noise_samples = 50,
          .noise_scale = noise,
          .base_batch = base};
}

// Decides until nothing changes.
StepSize settle(const BatchEvidence& e, const BatchLimits& limits) {
  StepSize now{limits.least, 1};
  for (int i = 0; i < 40; ++i) {
    const StepSize next = decide_batch(now, e, limits).size;
    EXPECT_LE(next.global, 2 * now.global);
    if (next == now) break;
    now = next;
  }
  return now;
}

TEST(BatchController, EndsNearTheClosedFormOfGoodput) {
  // Step time of a T4, batchsize of ResNet-18: B* = sqrt(a phi / b) = 323.
  const BatchEvidence e = evidence(0.0204, 0.00065, 3318, 128);
  const BatchLimits limits{
      .least = 128, .most = 4096, .most_per_pass = 4096, .min_gain = 0.001};
  const double best = best_goodput_batch({0.0204, 0.00065}, 1, 3318);
  const StepSize found = settle(e, limits);
  EXPECT_GT(static_cast<double>(found.global), best / std::sqrt(2.0));
  EXPECT_LT(static_cast<double>(found.global), best * std::sqrt(2.0));
}

TEST(BatchController, ChangesOnlyForAGainAboveTheLimit) {
  const BatchEvidence e = evidence(0.0204, 0.00065, 3318, 128);
  const BatchLimits limits{.least = 128, .most = 4096, .most_per_pass = 4096};
  const BatchDecision d = decide_batch({256, 1}, e, limits);
  EXPECT_EQ(d.size, (StepSize{256, 1}));
  EXPECT_LE(d.predicted_gain, 0.05);
  EXPECT_NE(d.reason.find("keep 256"), std::string::npos) << d.reason;
}

TEST(BatchController, GrowsAtMostTwofoldAndSaysWhy) {
  const BatchEvidence e = evidence(1.0, 0.0001, 1e5, 32);
  const BatchDecision d = decide_batch(
      {32, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_EQ(d.size.global, 64);
  EXPECT_GT(d.predicted_gain, 0.5);
  EXPECT_NE(d.reason.find("grow 32 to 64"), std::string::npos) << d.reason;
}

TEST(BatchController, ShrinksWhenTheNoiseIsGone) {
  const BatchEvidence e = evidence(0.001, 0.001, 10, 32);
  const BatchDecision d = decide_batch(
      {256, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_EQ(d.size.global, 128);
}

TEST(BatchController, StaysWithinTheCapAndWhatAPassCanHold) {
  const BatchEvidence e = evidence(1.0, 0.0001, 1e5, 32);
  BatchLimits limits{.least = 32, .most = 100, .most_per_pass = 20, .ranks = 2};
  const StepSize found = settle(e, limits);
  EXPECT_LE(found.global, 100);
  EXPECT_EQ(found.global % 2, 0);
  EXPECT_LE(found.global / 2 / found.passes, 20);
  EXPECT_EQ(found, sized(found.global, limits));
}

TEST(BatchController, KeepsTheBatchWhileTheNoiseIsNotKnown) {
  BatchEvidence e = evidence(1.0, 0.0001, 1e5, 32);
  e.noise_samples = kLeastNoiseSamples - 1;
  const BatchDecision d = decide_batch(
      {32, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_EQ(d.size.global, 32);
  EXPECT_NE(d.reason.find("are needed"), std::string::npos);
}

TEST(BatchController, ANoiseScaleWithoutBoundIsCapped) {
  const BatchEvidence e =
      evidence(1e-6, 0.001, std::numeric_limits<double>::infinity(), 32);
  const BatchDecision d = decide_batch(
      {32, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_EQ(d.size.global, 32);
  EXPECT_NE(d.reason.find("noise scale 3200"), std::string::npos) << d.reason;
}

TEST(BatchController, OneSizeSeenIsEnoughToTryTheNext) {
  BatchEvidence e = evidence(1, 1, 1e5, 32);
  e.pass_times.pop_back();
  const BatchDecision d = decide_batch(
      {32, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_EQ(d.size.global, 64);
  EXPECT_NE(d.reason.find("half is fixed"), std::string::npos);
}

TEST(BatchController, ALineThatNoiseTiltedStaysPositive) {
  const BatchEvidence e{.pass_times = {{32, 0.1}, {64, 0.05}},
                        .noise_samples = 20,
                        .noise_scale = 1e4,
                        .base_batch = 32};
  const BatchDecision d = decide_batch(
      {32, 1}, e, {.least = 32, .most = 1024, .most_per_pass = 1024});
  EXPECT_GT(d.predicted_gain, 0);
  EXPECT_EQ(d.size.global, 64);
}

}  // namespace
}  // namespace lockstep
