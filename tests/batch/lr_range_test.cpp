// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/lr_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Flat until 1e-3, down to 1 at 1e-1, then up steeply.
double loss_at(double lr) {
  const double x = std::log10(lr);
  if (x < -3) return 2.3;
  if (x < -1) return 2.3 - 0.65 * (x + 3);
  return 1 + 20 * (x + 1) * (x + 1);
}

struct Sweep {
  std::vector<double> lr, loss;
};

Sweep run(double from, double to, int steps) {
  Sweep out;
  for (int i = 0; i < steps; ++i) {
    out.lr.push_back(from * std::pow(to / from, i / (steps - 1.0)));
    out.loss.push_back(loss_at(out.lr.back()));
  }
  return out;
}

TEST(LrRange, FindsWhereTheLossFallsAndWhereItTurns) {
  const Sweep t = run(1e-6, 10, 300);
  const RangeResult r = judge_range(t.lr, t.loss);
  EXPECT_GT(r.steepest_lr, 1e-3);
  EXPECT_LT(r.steepest_lr, 0.2);
  EXPECT_LT(r.steepest_lr, r.lowest_lr);
  EXPECT_NEAR(std::log10(r.lowest_lr), -0.9, 0.3);
  ASSERT_TRUE(r.diverged_lr.has_value());
  EXPECT_GT(*r.diverged_lr, r.lowest_lr);
}

// As ResNet-18 does: the first steps bring the loss from 2.5 to 2.3 at a rate
// far too low to train with.
TEST(LrRange, DoesNotTakeTheFirstStepsFallForARate) {
  Sweep t = run(1e-6, 10, 300);
  for (std::size_t i = 0; i < t.loss.size(); ++i)
    t.loss[i] += 1.5 * std::exp(-static_cast<double>(i) / 4);
  const RangeResult r = judge_range(t.lr, t.loss);
  EXPECT_GT(r.steepest_lr, 1e-3);
  EXPECT_LT(r.steepest_lr, r.lowest_lr);
}

TEST(LrRange, ALossThatIsNoNumberIsWhereItDiverged) {
  Sweep t = run(1e-6, 0.05, 200);
  t.loss.back() = std::nan("");
  EXPECT_EQ(judge_range(t.lr, t.loss).diverged_lr, t.lr.back());
  t.loss.back() = t.loss[198];
  EXPECT_FALSE(judge_range(t.lr, t.loss).diverged_lr.has_value());
}

TEST(LrRange, RefusesTooFewStepsAndALossThatOnlyRises) {
  const Sweep few = run(1e-6, 10, 10);
  EXPECT_THROW(judge_range(few.lr, few.loss), Error);
  const Sweep rising = run(0.2, 10, 100);
  EXPECT_THROW(judge_range(rising.lr, rising.loss), Error);
}

}  // namespace
}  // namespace lockstep
