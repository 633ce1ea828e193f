// SPDX-License-Identifier: Apache-2.0
// Golden value T6: scikit-learn's test of mixed types, p = 0.3. The data of
// p = 0.5 and 0.7 are drawn anew here and held to the library's tolerance.
#include "lockstep/batch/ross.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/batch/ksg.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"
#include "tests/batch/fixture.h"

namespace lockstep {
namespace {

const char* const kRossFile = "ross_sklearn_p03.csv";

TEST(Ross, T6AgreesWithScikitLearn) {
  const auto label = labels(kRossFile, "label");
  const auto y = scale_and_jitter(column(kRossFile, "y"), 1);
  EXPECT_NEAR(ross_information(label, y, 3), 0.326080, 1e-6);
  EXPECT_NEAR(ross_information(label, y, 5), 0.319328, 1e-6);
  EXPECT_NEAR(ross_information(label, y, 7), 0.312490, 1e-6);
}

TEST(Ross, T6APointWithALabelOfItsOwnChangesNothing) {
  auto label = labels(kRossFile, "label");
  auto y = scale_and_jitter(column(kRossFile, "y"), 1);
  const double before = ross_information(label, y, 3);
  label.push_back(7);
  y.push_back(0.01);
  EXPECT_DOUBLE_EQ(ross_information(label, y, 3), before);
}

// y | 0 uniform on (-1, 1), y | 1 uniform on (0, 2).
TEST(Ross, T6ApproachesTheTruth) {
  const std::vector<std::pair<double, double>> golden = {
      {0.3, 0.305432}, {0.5, 0.346574}, {0.7, 0.305432}};
  for (const auto& [p, truth] : golden) {
    std::vector<double> found;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::mt19937_64 random(seed);
      std::vector<int> label;
      std::vector<double> y;
      for (int i = 0; i < 1000; ++i) {
        label.push_back(draw_uniform(random) < p ? 1 : 0);
        y.push_back(2 * draw_uniform(random) - (label.back() == 1 ? 0 : 1));
      }
      found.push_back(ross_information(label, y, 3));
    }
    EXPECT_NEAR(mean(found), truth, 0.1 * truth) << p;
  }
}

// The definition, point by point.
double ross_by_hand(const std::vector<int>& label, const std::vector<double>& y,
                    int k) {
  const std::size_t n = y.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> own;
    for (std::size_t j = 0; j < n; ++j)
      if (j != i && label[j] == label[i]) own.push_back(std::abs(y[i] - y[j]));
    std::ranges::sort(own);
    const int ki = std::min(k, static_cast<int>(own.size()));
    const double radius = own[static_cast<std::size_t>(ki - 1)];
    int m = 0;
    for (std::size_t j = 0; j < n; ++j) m += std::abs(y[i] - y[j]) < radius;
    sum +=
        digamma(ki) - digamma(static_cast<double>(own.size()) + 1) - digamma(m);
  }
  return digamma(static_cast<double>(n)) + sum / static_cast<double>(n);
}

RC_GTEST_PROP(Ross, SortedSearchFindsWhatTheDefinitionSays, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const int n = *rc::gen::inRange(8, 80);
  const int k = *rc::gen::inRange(1, 5);
  std::vector<int> label;
  std::vector<double> y;
  for (int i = 0; i < n; ++i) {
    label.push_back(i % 3);
    y.push_back(draw_normal(random) + i % 3);
  }
  RC_ASSERT(std::abs(RossEstimator(y, k).information(label) -
                     ross_by_hand(label, y, k)) < 1e-12);
}

// 4 sizes x 5 seeds, k = 3, Gaussian outcomes; the simulation of section 1.5:
// null -0.006 sd 0.122; 1 sd apart 0.436 sd 0.198; 3 sd apart 1.209 sd 0.127.
TEST(Ross, TwentyRunsAreEnoughForStrongOrNone) {
  const std::vector<std::array<double, 3>> golden = {
      {0, -0.006, 0.122}, {1, 0.436, 0.198}, {3, 1.209, 0.127}};
  for (const auto& [apart, centre, spread] : golden) {
    std::mt19937_64 random(11);
    std::vector<double> found;
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<int> label;
      std::vector<double> y;
      for (int i = 0; i < 20; ++i) {
        label.push_back(i % 4);
        y.push_back(apart * (i % 4) + draw_normal(random));
      }
      found.push_back(RossEstimator(y).information(label));
    }
    EXPECT_NEAR(mean(found), centre, 0.05) << apart;
    EXPECT_NEAR(standard_deviation(found), spread, 0.035) << apart;
  }
}

TEST(Ross, GaussianFormIsTheCorrelationRatio) {
  const std::vector<int> label = {0, 0, 1, 1};
  const std::vector<double> y = {0, 2, 4, 6};  // between 16 of 20
  EXPECT_NEAR(gaussian_information(label, y), -0.5 * std::log(0.2), 1e-12);
  EXPECT_EQ(gaussian_information(label, std::vector<double>(4, 1.0)), 0);
  EXPECT_NEAR(entropy_of_labels(label), std::log(2), 1e-15);
}

TEST(Ross, BadInputIsRefused) {
  const std::vector<double> y = {1, 2, 3}, nan = {1, 2, std::nan("")};
  const std::vector<int> own = {0, 1, 2}, few = {0, 0}, negative = {0, 0, -1};
  EXPECT_THROW(ross_information(own, y), Error);
  EXPECT_THROW(ross_information(few, y), Error);
  EXPECT_THROW(ross_information(negative, y), Error);
  EXPECT_THROW(RossEstimator{nan}, Error);
  EXPECT_THROW(RossEstimator{{}}, Error);
}

}  // namespace
}  // namespace lockstep
