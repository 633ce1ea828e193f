// SPDX-License-Identifier: Apache-2.0
// Golden values G1 to G3. G3: fairscale's golden AdaScale gains (two ranks,
// Linear(2, 2) with bias, loss = sum of outputs: the weight's rows are the
// input and the bias' gradient is 1, 1).
#include "lockstep/batch/noise_scale.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

TEST(NoiseScale, G1TwoBatches) {
  const NoiseSample s = two_batch_estimate(
      {.small_sq = 4.0, .small_batch = 32, .big_sq = 1.3, .big_batch = 512});
  EXPECT_NEAR(s.trace, 92.16, 1e-12);
  EXPECT_NEAR(s.gradient_sq, 1.12, 1e-12);
  EXPECT_NEAR(s.trace / s.gradient_sq, 82.2857, 1e-4);
}

// Squared norms of `count` micro-gradients G + N(0, s^2 / m) in d dimensions.
MicroNorms synthetic(std::mt19937_64& random, int count, double m) {
  constexpr std::size_t kDimensions = 10;
  std::array<double, kDimensions> mean{};
  MicroNorms out{.count = count, .micro_batch = m};
  for (int i = 0; i < count; ++i)
    for (double& v : mean) {
      const double g = 0.3 + 2 / std::sqrt(m) * draw_normal(random);
      out.mean_of_sq += g * g / count;
      v += g / count;
    }
  for (const double v : mean) out.sq_of_mean += v * v;
  return out;
}

// |G|^2 = 10 * 0.09, tr Sigma = 10 * 4.
TEST(NoiseScale, G2UnbiasedOverTenThousandSteps) {
  std::mt19937_64 random(1);
  std::vector<double> g, t;
  bool negative = false;
  for (int i = 0; i < 10000; ++i) {
    const NoiseSample s = micro_gradient_estimate(synthetic(random, 4, 16));
    g.push_back(s.gradient_sq);
    t.push_back(s.trace);
    negative = negative || s.gradient_sq < 0;
  }
  EXPECT_NEAR(mean(g), 0.9, 4 * standard_error(g));
  EXPECT_NEAR(mean(t), 40, 4 * standard_error(t));
  EXPECT_LT(standard_error(g), 0.01);
  EXPECT_TRUE(negative);  // a single step may be
}

TEST(NoiseScale, G2TheIntervalHoldsTheTruthNineTimesInTen) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<NoiseSample> samples;
    for (int i = 0; i < 400; ++i)
      samples.push_back(micro_gradient_estimate(synthetic(random, 4, 16)));
    const NoiseScale n = noise_scale(samples);
    EXPECT_TRUE(n.resolved);
    held += n.low <= 40 / 0.9 && 40 / 0.9 <= n.high;
  }
  EXPECT_GE(held, 165);
  EXPECT_LE(held, 195);
}

TEST(NoiseScale, NoSignalIsSaidNotGuessed) {
  std::mt19937_64 random(1);
  std::vector<NoiseSample> samples;
  for (int i = 0; i < 100; ++i)
    samples.push_back({draw_normal(random), 40 + draw_normal(random)});
  const NoiseScale n = noise_scale(samples);
  EXPECT_FALSE(n.resolved);
  EXPECT_TRUE(std::isinf(n.value));
}

RC_GTEST_PROP(NoiseScale, MicroGradientsAreTheTwoBatchCase, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const int count = *rc::gen::inRange(2, 9);
  const MicroNorms n = synthetic(random, count, 8);
  const NoiseSample a = micro_gradient_estimate(n);
  const NoiseSample b = two_batch_estimate({.small_sq = n.mean_of_sq,
                                            .small_batch = 8,
                                            .big_sq = n.sq_of_mean,
                                            .big_batch = 8.0 * count});
  RC_ASSERT(std::abs(a.gradient_sq - b.gradient_sq) < 1e-9);
  RC_ASSERT(std::abs(a.trace - b.trace) < 1e-6);
}

// Two ranks with these inputs, one example each.
MicroNorms linear_layer(std::array<double, 2> a, std::array<double, 2> b) {
  const auto sq = [](double x, double y) { return 2 * (x * x + y * y + 1); };
  return {.mean_of_sq = (sq(a[0], a[1]) + sq(b[0], b[1])) / 2,
          .sq_of_mean = sq((a[0] + b[0]) / 2, (a[1] + b[1]) / 2),
          .count = 2,
          .micro_batch = 1};
}

double gain(const NoiseAverage& average) {
  return adascale_gain(average.variance(1), average.gradient_sq(), 2);
}

NoiseAverage one_step(const MicroNorms& norms) {
  NoiseAverage average;
  average.add(micro_gradient_estimate(norms), 0.998);
  return average;
}

TEST(NoiseScale, G3FairscaleGains) {
  const NoiseAverage unit = one_step(linear_layer({1, 0}, {0, 1}));
  EXPECT_NEAR(unit.variance(1), 2, 1e-12);
  EXPECT_NEAR(unit.gradient_sq(), 2, 1e-12);
  EXPECT_NEAR(gain(unit), 4. / 3, 1e-12);

  const NoiseAverage opposite = one_step(linear_layer({-1, 1}, {1, -1}));
  EXPECT_NEAR(opposite.variance(1), 8, 1e-12);
  EXPECT_EQ(opposite.gradient_sq(), 0);  // clipped
  EXPECT_NEAR(gain(opposite), 2, 1e-12);

  const NoiseAverage uneven = one_step(linear_layer({1, 4}, {5, .5}));
  EXPECT_NEAR(uneven.variance(1), 28.25, 1e-12);
  EXPECT_NEAR(uneven.gradient_sq(), 16, 1e-12);
  EXPECT_NEAR(gain(uneven), 1.4688796680497926, 1e-12);

  const NoiseAverage mixed = one_step(linear_layer({-.2, 3}, {5, .5}));
  EXPECT_NEAR(mixed.variance(1), 33.29, 1e-12);
  EXPECT_NEAR(mixed.gradient_sq(), 3.0, 1e-12);
  EXPECT_NEAR(gain(mixed), 1.84728939, 1e-8);
}

TEST(NoiseScale, G3FairscaleGainOverTwoSteps) {
  NoiseAverage average = one_step(linear_layer({-.2, 3.3}, {5.2, .7}));
  average.add(micro_gradient_estimate(linear_layer({1, 4}, {3.1, .1})), 0.998);
  EXPECT_NEAR(gain(average), 1.672097, 1e-6);
}

TEST(NoiseScale, G3EqualGradientsHaveGainOne) {
  const NoiseAverage equal = one_step(linear_layer({1, 1}, {1, 1}));
  EXPECT_DOUBLE_EQ(equal.variance(1), 1e-6);
  EXPECT_NEAR(gain(equal), 1, 1e-5);
}

TEST(NoiseScale, ABrokenStepIsLeftOutAndCounted) {
  NoiseAverage average = one_step(linear_layer({1, 0}, {0, 1}));
  average.add({std::nan(""), 1}, 0.998);
  average.add({1, std::numeric_limits<double>::infinity()}, 0.998);
  EXPECT_EQ(average.num_samples(), 1);
  EXPECT_EQ(average.num_dropped(), 2);
  EXPECT_NEAR(average.noise_scale(), 1, 1e-12);
}

TEST(NoiseScale, NothingIsKnownBeforeTheFirstStep) {
  EXPECT_TRUE(std::isinf(NoiseAverage().noise_scale()));
}

TEST(NoiseScale, TheWindowIsConstantInExamples) {
  EXPECT_NEAR(std::pow(NoiseAverage::default_memory(128, 128), 8),
              NoiseAverage::default_memory(1024, 128), 1e-15);
}

TEST(NoiseScale, BadInputIsRefused) {
  EXPECT_THROW(micro_gradient_estimate({1, 1, 1, 32}), Error);
  EXPECT_THROW(micro_gradient_estimate({1, 1, 2, 0}), Error);
  EXPECT_THROW(two_batch_estimate({1, 32, 1, 32}), Error);
  EXPECT_THROW(noise_scale(std::vector<NoiseSample>(9)), Error);
}

}  // namespace
}  // namespace lockstep
