// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/special.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

TEST(Special, T10DigammaOfOneIsMinusEulersConstant) {
  EXPECT_NEAR(digamma(1), -0.5772156649015329, 1e-15);
  EXPECT_NEAR(digamma(0.5), -1.9635100260214235, 1e-14);
  EXPECT_NEAR(digamma(100), 4.600161852738087, 1e-14);
}

RC_GTEST_PROP(Special, T10DigammaStepsByOneOverN, ()) {
  const int n = *rc::gen::inRange(1, 5000);
  RC_ASSERT(std::abs(digamma(n + 1) - digamma(n) - 1.0 / n) < 1e-14);
}

// scipy.stats.chi2.sf
TEST(Special, ChiSquareSurvivalAgreesWithScipy) {
  EXPECT_NEAR(chi_square_survival(81, 81), 0.47910138169026883, 1e-12);
  EXPECT_NEAR(chi_square_survival(3.841458820694124, 1), 0.05, 1e-12);
  EXPECT_NEAR(chi_square_survival(200, 81) / 4.732682589050208e-12, 1, 1e-6);
  EXPECT_EQ(chi_square_survival(0, 4), 1);
}

TEST(Special, DrawsFillTheirRangeEvenly) {
  std::mt19937_64 random(7);
  std::array<int, 5> count{};
  double sum = 0, square = 0;
  for (int i = 0; i < 50000; ++i) {
    ++count[draw_below(random, 5)];
    const double z = draw_normal(random);
    sum += z;
    square += z * z;
  }
  for (const int c : count) EXPECT_NEAR(c, 10000, 400);
  EXPECT_NEAR(sum / 50000, 0, 0.02);
  EXPECT_NEAR(square / 50000, 1, 0.03);
}

TEST(Special, QuantilesLieBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.05), 0.5);
  EXPECT_DOUBLE_EQ(quantile({4}, 0.95), 4);
  EXPECT_THROW(quantile({}, 0.5), Error);
}

}  // namespace
}  // namespace lockstep
