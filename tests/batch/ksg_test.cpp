// SPDX-License-Identifier: Apache-2.0
// Golden values T4, T5, T8. T4's data and three digits are scikit-learn's own
// (docstring of mutual_info_regression), the further digits recomputed.
#include "lockstep/batch/ksg.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"
#include "tests/batch/fixture.h"

namespace lockstep {
namespace {

struct Pair {
  std::vector<double> x, y;
};

Pair gaussian(double rho, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Pair p;
  for (std::size_t i = 0; i < n; ++i) {
    p.x.push_back(draw_normal(random));
    p.y.push_back(rho * p.x.back() +
                  std::sqrt(1 - rho * rho) * draw_normal(random));
  }
  return p;
}

TEST(Ksg, T4AgreesWithScikitLearn) {
  const auto y = scale_and_jitter(column("ksg_sklearn50.csv", "y"), 1);
  const std::vector<std::pair<std::string, std::pair<double, double>>> golden =
      {{"x0", {2.645872, 2.195872}},
       {"x1", {0.117020, 0.039427}},
       {"x2", {0.028697, 0.046781}}};
  for (const auto& [name, nats] : golden) {
    const auto x = scale_and_jitter(column("ksg_sklearn50.csv", name), 2);
    EXPECT_NEAR(ksg_information(x, y, 3), nats.first, 1e-6) << name;
    EXPECT_NEAR(ksg_information(x, y, 5), nats.second, 1e-6) << name;
  }
}

// Truth -0.5 ln(1 - rho^2), one run of 1000 within 0.1; the mean of five as
// measured with scikit-learn within three standard errors.
TEST(Ksg, T5KnowsGaussianPairs) {
  const std::vector<std::array<double, 3>> golden = {{0.3, 0.047155, 0.031},
                                                     {0.5, 0.143841, 0.123},
                                                     {0.6, 0.223144, 0.207},
                                                     {0.9, 0.830366, 0.817}};
  for (const auto& [rho, truth, found] : golden) {
    EXPECT_NEAR(-0.5 * std::log(1 - rho * rho), truth, 1e-6);
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Pair p = gaussian(rho, 1000, seed);
      const double nats = ksg_information(p.x, p.y);
      EXPECT_NEAR(nats, truth, 0.1) << rho;
      sum += nats / 5;
    }
    EXPECT_NEAR(sum, found, 0.05) << rho;
  }
}

// The definition, point by point.
double ksg_by_hand(const Pair& p, int k) {
  const std::size_t n = p.x.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> d;
    for (std::size_t j = 0; j < n; ++j)
      if (j != i)
        d.push_back(
            std::max(std::abs(p.x[i] - p.x[j]), std::abs(p.y[i] - p.y[j])));
    std::ranges::sort(d);
    const double radius = d[static_cast<std::size_t>(k - 1)];
    int nx = 0, ny = 0;
    for (std::size_t j = 0; j < n; ++j) {
      nx += j != i && std::abs(p.x[i] - p.x[j]) < radius;
      ny += j != i && std::abs(p.y[i] - p.y[j]) < radius;
    }
    sum += digamma(nx + 1) + digamma(ny + 1);
  }
  return digamma(static_cast<double>(n)) + digamma(k) -
         sum / static_cast<double>(n);
}

RC_GTEST_PROP(Ksg, TheTreeFindsWhatTheDefinitionSays, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto n = *rc::gen::inRange<std::size_t>(8, 120);
  const int k = *rc::gen::inRange(1, 6);
  const Pair p = gaussian(0.7, n, seed);
  RC_ASSERT(std::abs(ksg_information(p.x, p.y, k) - ksg_by_hand(p, k)) < 1e-12);
}

RC_GTEST_PROP(Ksg, T8ScaleAndShiftDoNotMatter, ()) {
  const double a = *rc::gen::inRange(1, 2000) / 10.0;
  const double b = *rc::gen::inRange(-100, 100);
  Pair p = gaussian(0.8, 200, 5);
  const double before =
      ksg_information(scale_and_jitter(p.x, 1), scale_and_jitter(p.y, 2));
  for (double& v : p.x) v = a * v + b;
  const double after =
      ksg_information(scale_and_jitter(p.x, 1), scale_and_jitter(p.y, 2));
  RC_ASSERT(std::abs(before - after) < 0.02);
  RC_ASSERT(std::abs(ksg_information(p.y, p.x) - ksg_information(p.x, p.y)) <
            1e-12);
}

// Of this process alone: the machine may be busy with others.
double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(Ksg, TenThousandPointsTakeLessThanASecond) {
  Pair p = gaussian(0.5, 10000, 1);
  const double begin = cpu_s();
  EXPECT_NEAR(ksg_information(p.x, p.y), 0.143841, 0.03);
  EXPECT_LT(cpu_s() - begin, 1.0);
  for (double& v : p.x) v = std::round(v);  // seven values: ties everywhere
  const double again = cpu_s();
  ksg_information(scale_and_jitter(p.x, 1), scale_and_jitter(p.y, 2));
  ksg_information(p.x, p.y);
  EXPECT_LT(cpu_s() - again, 1.0);
}

TEST(Ksg, BadInputIsRefused) {
  const std::vector<double> few = {1, 2, 3}, more = {1, 2, 3, 4},
                            nan = {1, std::nan(""), 2};
  EXPECT_THROW(ksg_information(few, few, 3), Error);
  EXPECT_THROW(ksg_information(few, more, 1), Error);
  EXPECT_THROW(scale_and_jitter(nan, 1), Error);
  EXPECT_THROW(scale_and_jitter({}, 1), Error);
}

}  // namespace
}  // namespace lockstep
