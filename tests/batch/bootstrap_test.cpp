// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/bootstrap.h"

#include <gtest/gtest.h>

#include <vector>

#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct Nets {
  std::vector<int> labels, first, second;
  // Each net errs on its own examples, with these shares.
  Nets(double wrong_first, double wrong_second, int n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < n; ++i) {
      const int y = static_cast<int>(draw_below(random, 4));
      labels.push_back(y);
      first.push_back(draw_uniform(random) < wrong_first ? (y + 1) % 4 : y);
      second.push_back(draw_uniform(random) < wrong_second ? (y + 1) % 4 : y);
    }
  }
  PairedPredictions view() const { return {labels, first, second, 4}; }
};

TEST(Bootstrap, TellsABetterNetFromAWorseOne) {
  const Nets nets(0.05, 0.15, 2000, 1);
  const PairedDifference d = paired_bootstrap(nets.view());
  EXPECT_GT(d.nats, 0);
  EXPECT_TRUE(d.differ);
  EXPECT_LT(d.interval.low, d.nats);
  EXPECT_GT(d.interval.high, d.nats);
}

TEST(Bootstrap, ANetDoesNotDifferFromItself) {
  Nets nets(0.1, 0.1, 500, 2);
  nets.second = nets.first;
  const PairedDifference d = paired_bootstrap(nets.view());
  EXPECT_EQ(d.nats, 0);
  EXPECT_EQ(d.se, 0);
  EXPECT_FALSE(d.differ);
}

// An interval of 90 % misses the truth about one time in ten.
TEST(Bootstrap, EqualNetsAreToldApartAboutOneTimeInTen) {
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    differ +=
        paired_bootstrap(Nets(0.1, 0.1, 300, seed).view(), {.resamples = 200})
            .differ;
  EXPECT_GE(differ, 2);
  EXPECT_LE(differ, 20);
}

TEST(Bootstrap, UnequalEvaluationsAreRefused) {
  const std::vector<int> labels = {0, 1, 1}, same = {0, 1, 1}, fewer = {0, 1};
  EXPECT_THROW(paired_bootstrap({labels, same, fewer, 2}), Error);
}

TEST(Bootstrap, TheMeanOverSeedsLiesInItsInterval) {
  const std::vector<double> seeds = {1.0, 1.2, 0.9, 1.1, 1.3};
  const Interval i = bootstrap_mean(seeds);
  EXPECT_LT(i.low, 1.1);
  EXPECT_GT(i.high, 1.1);
  EXPECT_GE(i.low, 0.9);
  EXPECT_EQ(bootstrap_mean(std::vector<double>{2}).low, 2);
  EXPECT_THROW(bootstrap_mean({}), Error);
}

}  // namespace
}  // namespace lockstep
