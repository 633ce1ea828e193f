// SPDX-License-Identifier: Apache-2.0
// Laws and bends are found again where they were put in.
#include "lockstep/analyse/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/analyse/saturation.h"
#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Speed-ups of a law at 1, 2, 4, … with draws of 2 % around them.
std::vector<SpeedupPoint> points_of(Law law, const LawValues& values,
                                    const std::vector<double>& ranks) {
  std::mt19937_64 random(1);
  std::vector<SpeedupPoint> out;
  for (const double n : ranks) {
    SpeedupPoint p{.ranks = n, .speedup = {}};
    p.speedup.value = speedup_at(law, values, n);
    for (int d = 0; d < 200; ++d)
      p.speedup.log_draws.push_back(std::log(p.speedup.value) +
                                    0.02 * draw_normal(random));
    out.push_back(p);
  }
  return out;
}

LawFit fit_one(Law law, std::span<const SpeedupPoint> points) {
  const std::array laws = {law};
  return fit_laws(points, laws).at(0);
}

TEST(Laws, TextbookValues) {
  // Amdahl 1967: 5 % serial, 16 ranks; Gustafson 1988: 5 %, 16 ranks.
  EXPECT_NEAR(speedup_at(Law::amdahl, {0.05}, 16), 9.142857, 1e-6);
  EXPECT_NEAR(speedup_at(Law::gustafson, {0.05}, 16), 15.25, 1e-12);
  EXPECT_NEAR(speedup_at(Law::usl, {0.05, 0.02}, 4), 4 / (1.15 + 0.24), 1e-12);
}

TEST(Laws, EachIsFoundAgainWithinItsInterval) {
  for (const Law law : {Law::amdahl, Law::gustafson}) {
    const LawFit fit = fit_one(law, points_of(law, {0.08}, {1, 2, 4, 8}));
    EXPECT_NEAR(fit.values.serial, 0.08, 1e-6) << word(law);
    EXPECT_LT(fit.low.serial, 0.08);
    EXPECT_GT(fit.high.serial, 0.08);
    EXPECT_LT(fit.rms, 1e-6);
  }
  const LawFit usl =
      fit_one(Law::usl, points_of(Law::usl, {0.05, 0.01}, {1, 2, 4, 8, 16}));
  EXPECT_NEAR(usl.values.serial, 0.05, 1e-5);
  EXPECT_NEAR(usl.values.coherence, 0.01, 1e-5);
  EXPECT_NEAR(usl.peak_ranks, std::sqrt(0.95 / 0.01), 0.01);
}

TEST(Laws, EveryFitSaysWhereItEnds) {
  const LawFit fit =
      fit_one(Law::amdahl, points_of(Law::amdahl, {0.1}, {1, 2, 4}));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("outside 1 to 4 ranks")));
  EXPECT_THAT(fit.warnings, Not(Contains(HasSubstr("unknown(s)"))));
}

TEST(Laws, AsManyUnknownsAsPointsIsSaid) {
  const LawFit fit =
      fit_one(Law::usl, points_of(Law::usl, {0.1, 0.01}, {1, 2, 4}));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("fits whatever was measured")));
  EXPECT_TRUE(fit_laws(points_of(Law::usl, {0.1}, {1, 2}), std::array{Law::usl})
                  .empty());
}

TEST(Laws, MoreThanLinearIsSaid) {
  auto points = points_of(Law::amdahl, {0.0}, {1, 2, 4});
  points[2].speedup.value = 5;
  EXPECT_THAT(fit_one(Law::amdahl, points).warnings,
              Contains(HasSubstr("more than linear")));
}

TEST(Laws, ALawThatDoesNotFitSaysSo) {
  // Slower with every rank: Amdahl cannot.
  std::vector<SpeedupPoint> points;
  for (const double n : {1.0, 2.0, 4.0, 8.0})
    points.push_back({n, single_value(1 / n)});
  EXPECT_THAT(fit_one(Law::amdahl, points).warnings,
              Contains(HasSubstr("does not describe")));
}

std::vector<BatchTime> epoch_times(double bend, double slope, double noise,
                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<BatchTime> out;
  for (const double b : {2., 5., 10., 20., 30., 50., 70., 100., 150., 300.})
    out.push_back(
        {b, single_value(3 * std::pow(std::max(1.0, bend / b), slope) *
                         std::exp(noise * draw_normal(random)))});
  return out;
}

TEST(Saturation, TheBendIsFoundAgain) {
  const Saturation s = saturation_of(epoch_times(40, 1, 0, 1));
  EXPECT_NEAR(s.per_rank, 40, 1);
  EXPECT_NEAR(s.slope, -1, 0.02);
  EXPECT_NEAR(s.floor_s, 3, 0.02);
  EXPECT_EQ(s.note, "");
}

TEST(Saturation, TheIntervalHoldsTheTruthUnderNoise) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Saturation s = saturation_of(epoch_times(40, 0.9, 0.05, seed));
    held += s.low <= 40 && 40 <= s.high;
  }
  EXPECT_GE(held, 51);  // 95 % nominal, ten points, three unknowns
}

TEST(Saturation, ABendOutsideTheSweepIsABound) {
  EXPECT_THAT(saturation_of(epoch_times(1e6, 1, 0, 1)).note,
              HasSubstr("still falls"));
  EXPECT_THAT(saturation_of(epoch_times(1, 1, 0, 1)).note,
              HasSubstr("does not fall"));
  const auto few = epoch_times(40, 1, 0, 1);
  EXPECT_TRUE(std::isnan(saturation_of(std::span(few).first(3)).per_rank));
}

}  // namespace
}  // namespace lockstep
