// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/permutation.h"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

struct Outcomes {
  std::vector<int> labels;
  std::vector<double> values;
  Outcomes(double apart, int n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < n; ++i) {
      labels.push_back(i % 4);
      values.push_back(apart * (i % 4) + draw_normal(random));
    }
  }
};

TEST(Permutation, AStrongEffectIsBeyondChance) {
  const Outcomes o(3, 20, 1);
  const DependenceTest t = test_dependence(o.labels, o.values);
  EXPECT_DOUBLE_EQ(t.p_value, 0.001);
  EXPECT_GT(t.nats, 0.8);
  EXPECT_NEAR(t.null_mean, 0, 0.05);
  EXPECT_NEAR(t.null_sd, 0.12, 0.04);
}

TEST(Permutation, WithoutAnEffectPValuesAreEven) {
  std::vector<double> p;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Outcomes o(0, 20, seed);
    p.push_back(
        test_dependence(o.labels, o.values, {.permutations = 99}).p_value);
  }
  EXPECT_NEAR(mean(p), 0.5, 0.08);
  EXPECT_NEAR(quantile(p, 0.1), 0.1, 0.06);
}

TEST(Permutation, TiedOutcomesAreBroken) {
  const std::vector<int> labels = {0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<double> values(8, 0.94);
  const DependenceTest t = test_dependence(labels, values);
  EXPECT_LT(t.nats, 0.6);
  EXPECT_GT(t.p_value, 0.01);
}

TEST(Permutation, TwoContinuousVariables) {
  std::mt19937_64 random(5);
  std::vector<double> x, y, z;
  for (int i = 0; i < 100; ++i) {
    x.push_back(draw_normal(random));
    y.push_back(x.back() + 0.5 * draw_normal(random));
    z.push_back(draw_normal(random));
  }
  EXPECT_LE(test_dependence(x, y, {.permutations = 199}).p_value, 0.01);
  EXPECT_GT(test_dependence(x, z, {.permutations = 199}).p_value, 0.02);
}

TEST(Permutation, TheSameSeedGivesTheSameAnswer) {
  const Outcomes o(0.5, 40, 9);
  const auto a = test_dependence(o.labels, o.values, {.seed = 4});
  const auto b = test_dependence(o.labels, o.values, {.seed = 4});
  EXPECT_EQ(a.p_value, b.p_value);
  EXPECT_EQ(a.nats, b.nats);
}

// Processor time of this process: the machine may be busy with others.
TEST(Permutation, TenThousandPointsTakeSecondsNotMinutes) {
  const Outcomes o(1, 10000, 2);
  const std::clock_t begin = std::clock();
  EXPECT_LE(test_dependence(o.labels, o.values, {.permutations = 99}).p_value,
            0.01);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0);
}

}  // namespace
}  // namespace lockstep
