// SPDX-License-Identifier: Apache-2.0
// Golden values of section 3.2: fits to Pollux's measured placements. The
// reference was found with Nelder-Mead, so the objective counts, not the digits
// of each parameter.
#include "lockstep/batch/throughput_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "lockstep/batch/step_time.h"
#include "lockstep/core/error.h"
#include "tests/batch/fixture.h"

namespace lockstep {
namespace {

const char* const kPlacements = "pollux_cifar10/placements.csv";

// A placement is one digit a node: its ranks there.
std::vector<MeasuredStep> placements(std::int64_t most_nodes) {
  const auto where = column(kPlacements, "placement"),
             batch = column(kPlacements, "local_bsz"),
             step = column(kPlacements, "step_time"),
             sync = column(kPlacements, "sync_time");
  std::vector<MeasuredStep> out;
  for (std::size_t i = 0; i < where.size(); ++i) {
    Placement p{0, 0};
    for (auto digits = static_cast<int>(where[i]); digits > 0; digits /= 10) {
      p.ranks += digits % 10;
      ++p.nodes;
    }
    if (p.nodes <= most_nodes) out.push_back({p, batch[i], step[i], sync[i]});
  }
  return out;
}

TEST(ThroughputModel, FitOfOneNodeIsAtLeastAsGoodAsPublished) {
  const auto steps = placements(1);
  ASSERT_EQ(steps.size(), 44u);
  const ThroughputFit fit = fit_throughput(steps);
  EXPECT_LE(fit.objective, 0.1153);
  EXPECT_GT(fit.objective, 0.114);
  EXPECT_NEAR(fit.model.compute_fixed_s, 0.0189, 0.0005);
  EXPECT_NEAR(fit.model.compute_per_sample_s, 0.000699, 0.00001);
  EXPECT_NEAR(fit.model.local_fixed_s, 0.0269, 0.003);
  EXPECT_NEAR(fit.model.local_per_rank_s, 0.0048, 0.0015);
  EXPECT_NEAR(fit.model.overlap, 2.09, 0.2);
  EXPECT_NEAR(fit.median_relative_error, 0.05, 0.01);
  EXPECT_NEAR(fit.p95_relative_error, 0.09, 0.02);
}

TEST(ThroughputModel, FitOfTwoNodesIsAtLeastAsGoodAsPublished) {
  const auto steps = placements(2);
  ASSERT_EQ(steps.size(), 154u);
  const ThroughputFit fit = fit_throughput(steps);
  EXPECT_LE(fit.objective, 0.1477);
  EXPECT_NEAR(fit.model.node_fixed_s, 0.110, 0.01);
  EXPECT_NEAR(fit.model.node_per_rank_s, 0.0164, 0.004);
  EXPECT_NEAR(fit.model.overlap, 2.19, 0.2);
  EXPECT_NEAR(fit.median_relative_error, 0.06, 0.01);
  EXPECT_NEAR(fit.p95_relative_error, 0.18, 0.03);
}

struct Line {
  double placement, fixed_s, per_sample_s, worst;
};

TEST(StepTime, PlainLinesThroughPublishedPlacements) {
  const std::vector<Line> golden = {{1, 0.02038, 0.000650, 0.05},
                                    {2, 0.02153, 0.000741, 0.08},
                                    {4, 0.02889, 0.000685, 0.13},
                                    {44, 0.14305, 0.000570, 0.15},
                                    {4444, 0.11647, 0.000515, 0.22}};
  const auto where = column(kPlacements, "placement"),
             batch = column(kPlacements, "local_bsz"),
             step = column(kPlacements, "step_time");
  for (const Line& g : golden) {
    std::vector<StepTime> points;
    for (std::size_t i = 0; i < where.size(); ++i)
      if (where[i] == g.placement) points.push_back({batch[i], step[i]});
    const LinearStepTime line = fit_linear_step_time(points);
    EXPECT_NEAR(line.fixed_s, g.fixed_s, 6e-6) << g.placement;
    EXPECT_NEAR(line.per_sample_s, g.per_sample_s, 6e-7) << g.placement;
    EXPECT_NEAR(line.max_relative_error, g.worst, 0.006) << g.placement;
  }
}

RC_GTEST_PROP(ThroughputModel, BehavesAsThroughputMust, ()) {
  const ThroughputModel model{0.0179, 0.0007, 0.110, 0.0164,
                              0.0314, 0.0035, 2.19};
  const double m = *rc::gen::inRange(8, 2000);
  const auto ranks = *rc::gen::inRange<std::int64_t>(1, 16);
  const Placement few{ranks, 1}, more{ranks + 1, 1};
  const double here = model.throughput(m, few);
  RC_ASSERT(model.throughput(m * 1.1, few) > here);
  // Concave in m: a second equal stride brings less.
  RC_ASSERT(model.throughput(m + 20, few) - model.throughput(m + 10, few) <
            model.throughput(m + 10, few) - here);
  RC_ASSERT(model.throughput(m, more) / static_cast<double>(ranks + 1) <=
            here / static_cast<double>(ranks));
  RC_ASSERT(model.step_s(m, few) >= model.gradient_s(m) * (1 - 1e-12));
}

TEST(ThroughputModel, OneBatchSizeSplitsTheGradientInHalf) {
  const std::vector<MeasuredStep> steps = {{{1, 1}, 64, 0.1, 0},
                                           {{1, 1}, 64, 0.1, 0}};
  const ThroughputFit fit = fit_throughput(steps);
  EXPECT_NEAR(fit.model.compute_fixed_s, 0.05, 1e-12);
  EXPECT_NEAR(fit.model.step_s(64, {1, 1}), 0.1, 1e-3);
}

TEST(ThroughputModel, BadInputIsRefused) {
  const std::vector<MeasuredStep> one = {{{1, 1}, 64, 0.1, 0}};
  EXPECT_THROW(fit_throughput(one), Error);
  const std::vector<MeasuredStep> all_sync = {{{2, 1}, 64, 0.1, 0.1},
                                              {{2, 1}, 32, 0.1, 0}};
  EXPECT_THROW(fit_throughput(all_sync), Error);
}

TEST(StepTime, LiesBetweenItsMeasurements) {
  const std::vector<StepTime> points = {{32, 1}, {64, 2}, {128, 3}};
  EXPECT_DOUBLE_EQ(*measured_step_s(points, 96), 2.5);
  EXPECT_DOUBLE_EQ(*measured_step_s(points, 32), 1);
  EXPECT_DOUBLE_EQ(*measured_step_s(points, 128), 3);
  EXPECT_DOUBLE_EQ(*measured_step_s(points, 256), 6);  // two passes
  EXPECT_FALSE(measured_step_s(points, 31));
  EXPECT_FALSE(measured_step_s({}, 31));
}

TEST(StepTime, OneBatchSizeIsNoLine) {
  const std::vector<StepTime> same = {{32, 1}, {32, 1.1}};
  EXPECT_THROW(fit_linear_step_time(same), Error);
  const std::vector<StepTime> bad = {{32, 1}, {64, std::nan("")}};
  EXPECT_THROW(fit_linear_step_time(bad), Error);
}

}  // namespace
}  // namespace lockstep
