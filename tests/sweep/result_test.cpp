// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lockstep {
namespace {

RunTimes noisy_run(std::mt19937_64& bits, double middle, double spread) {
  std::normal_distribution<double> noise(middle, spread);
  RunTimes run{
      .full_s = {}, .partial_s = {}, .epoch_samples = 100, .global_batch = 10};
  for (int i = 0; i < 20; ++i) run.full_s.push_back(noise(bits));
  return run;
}

TEST(Pool, RunsThatDisagreeWidenTheInterval) {
  std::mt19937_64 bits(3);
  const std::vector<RunTimes> same = {noisy_run(bits, 1, 0.01),
                                      noisy_run(bits, 1, 0.01),
                                      noisy_run(bits, 1, 0.01)};
  const std::vector<RunTimes> apart = {noisy_run(bits, 0.9, 0.01),
                                       noisy_run(bits, 1, 0.01),
                                       noisy_run(bits, 1.1, 0.01)};
  EXPECT_LT(pool(same).half_width(), 0.02);
  EXPECT_GT(pool(apart).half_width(), 0.05);
  EXPECT_EQ(pool(same).samples, 60);
}

TEST(Pool, TheIntervalHoldsTheTrueMedianMostOfTheTime) {
  std::mt19937_64 bits(5);
  std::normal_distribution<double> between(1, 0.03);
  int held = 0;
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<RunTimes> runs;
    for (int i = 0; i < 8; ++i)
      runs.push_back(noisy_run(bits, between(bits), 0.01));
    const PooledTimes p = pool(runs);
    held += p.lo95_s <= 1 && 1 <= p.hi95_s;
  }
  // Nominal 38; few runs make a percentile interval somewhat too narrow.
  EXPECT_GE(held, 32);
}

TEST(EpochOf, CountsTheSmallerLastStep) {
  RunTimes run{
      .full_s = {2}, .partial_s = {}, .epoch_samples = 25, .global_batch = 10};
  EXPECT_DOUBLE_EQ(epoch_of(run, 2), 2 * 2 + 2 * 0.5);
  run.partial_s = {1.5};
  EXPECT_DOUBLE_EQ(epoch_of(run, 2), 2 * 2 + 1.5);
  run.epoch_samples = 30;
  EXPECT_DOUBLE_EQ(epoch_of(run, 2), 6);
}

}  // namespace
}  // namespace lockstep
