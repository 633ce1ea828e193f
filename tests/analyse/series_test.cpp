// SPDX-License-Identifier: Apache-2.0
// Statistics of series whose truth is known: how often intervals hold it.
#include "lockstep/analyse/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lockstep/analyse/student.h"
#include "tests/analyse/made_series.h"

namespace lockstep {
namespace {

// scipy.stats.t.ppf, SciPy 1.15.
TEST(Student, QuantilesAreSciPys) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736174694, 1e-8);
  EXPECT_NEAR(student_quantile(0.995, 5), 4.032142983555228, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 39), 2.022690920036761, 1e-9);
  EXPECT_NEAR(student_quantile(0.05, 2.5), -2.5582186141359364, 1e-7);
  EXPECT_NEAR(student_quantile(0.5, 7), 0, 1e-12);
}

TEST(Series, CorrelationOfAnAutoregressionIsTheTextbooks) {
  // (1 + phi) / (1 - phi): 1 for noise, 9 for 0.8.
  const auto noise = made_series({.count = 20000, .phi = 0}, 3);
  const auto slow = made_series({.count = 20000, .phi = 0.8}, 3);
  EXPECT_NEAR(correlation_steps(noise), 1, 0.15);
  EXPECT_NEAR(correlation_steps(slow), 9, 1.5);
}

TEST(Series, ASpikeDoesNotHideCorrelation) {
  auto slow = made_series({.count = 4000, .phi = 0.8}, 5);
  for (std::size_t i = 0; i < slow.size(); i += 200) slow[i] *= 50;
  EXPECT_GT(correlation_steps(slow), 5);
}

TEST(Series, BlocksDropTheOldestRest) {
  const std::vector<double> values = {9, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(block_medians(values, 3), (std::vector<double>{2, 5}));
}

double coverage(double phi, std::size_t count) {
  int held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto values = made_series({.count = count, .phi = phi},
                                    static_cast<std::uint64_t>(trial) + 1);
    const Estimate e = estimate_median(values, {.draws = 200});
    held += e.low <= 1 && 1 <= e.high;
  }
  return held / static_cast<double>(kTrials);
}

TEST(Series, IntervalsHoldTheTrueMedianAsOftenAsTheySay) {
  EXPECT_GT(coverage(0, 200), 0.92);
  EXPECT_GT(coverage(0.7, 600), 0.90);
}

TEST(Series, OneValueHasNoIntervalAndIsNoCrash) {
  const std::vector<double> one = {0.5};
  const Estimate e = estimate_median(one);
  EXPECT_EQ(e.value, 0.5);
  EXPECT_TRUE(std::isnan(e.low) && std::isnan(e.high));
  EXPECT_FALSE(ratio(e, e).has_interval());
  EXPECT_TRUE(std::isnan(estimate_median({}).value));
}

TEST(Series, RunsThatDisagreeWidenTheirPool) {
  const auto steady = estimate_median(made_series({.count = 400}, 1));
  const auto other =
      estimate_median(made_series({.count = 400, .middle = 1.2}, 2));
  const std::vector<Estimate> runs = {steady, other};
  const Estimate pooled = pool(runs);
  EXPECT_NEAR(pooled.value, std::sqrt(1.2), 0.01);
  EXPECT_LT(pooled.low, 1.0);
  EXPECT_GT(pooled.high, 1.2);
}

}  // namespace
}  // namespace lockstep
