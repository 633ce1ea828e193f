// SPDX-License-Identifier: Apache-2.0
// Verdicts on pairs of runs whose difference is known: equal runs are not
// accused, different ones are found, too little data is UNSURE.
#include "lockstep/analyse/compare_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/analyse/made_series.h"

namespace lockstep {
namespace {

TimedRun run_of(const MadeSeries& made, std::uint64_t seed) {
  TimedRun run{.name = "made", .machine = "here", .steps = {}};
  const auto forward = made_series(made, seed);
  const auto backward = made_series(made, seed + 500000);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    StepSample s{.step = static_cast<std::int64_t>(i)};
    s.forward_s = 0.4 * forward[i], s.backward_s = 0.6 * backward[i];
    s.step_s = s.forward_s + s.backward_s;
    run.steps.push_back(s);
  }
  return run;
}

Change verdict(const MadeSeries& a, const MadeSeries& b, std::uint64_t seed) {
  return compare_runs({run_of(a, seed)}, {run_of(b, seed + 900000)})
      .front()
      .change;
}

// Share of 1,000 equal pairs in which any metric is called FASTER or SLOWER.
// `drift`: one standard deviation of what a run differs by as a whole.
double false_alarms(MadeSeries made, double drift) {
  int alarms = 0;
  for (std::uint64_t trial = 1; trial <= 1000; ++trial) {
    std::mt19937_64 random(trial);
    MadeSeries a = made, b = made;
    a.middle *= std::exp(drift * draw_normal(random));
    b.middle *= std::exp(drift * draw_normal(random));
    const auto metrics =
        compare_runs({run_of(a, trial)}, {run_of(b, trial + 900000)});
    bool alarm = false;
    for (const MetricChange& m : metrics)
      alarm |= m.change == Change::faster || m.change == Change::slower;
    alarms += alarm;
  }
  return alarms / 1000.0;
}

TEST(CompareRuns, EqualRunsAreHardlyEverAccused) {
  EXPECT_LE(false_alarms({.count = 150}, 0), 0.05);
  EXPECT_LE(false_alarms({.count = 150, .spread = 0.3, .spikes = 0.05}, 0),
            0.05);
}

// Of 1,000 equal pairs: how often the step is accused when no margin helps, and
// how often it is called SAME with the usual one.
struct Counts {
  int accused = 0, same = 0;
};
Counts equal_pairs(const MadeSeries& made) {
  Counts counts;
  for (std::uint64_t trial = 1; trial <= 1000; ++trial) {
    const TimedRun a = run_of(made, trial), b = run_of(made, trial + 900000);
    const Change bare = compare_runs({a}, {b}, {.margin = 0})[0].change;
    counts.accused += bare == Change::faster || bare == Change::slower;
    counts.same += compare_runs({a}, {b})[0].change == Change::same;
  }
  return counts;
}

TEST(CompareRuns, EqualRunsThatRememberAreHardlyEverAccused) {
  for (const MadeSeries& made :
       {MadeSeries{.count = 300, .spread = 0.02, .phi = 0.6},
        MadeSeries{.count = 600, .spread = 0.02, .phi = 0.8}}) {
    const Counts counts = equal_pairs(made);
    EXPECT_LE(counts.accused, 50) << made.phi;
    EXPECT_GE(counts.same, 950) << made.phi;
  }
}

// As if steps forgot at once: what the blocks are for.
TEST(CompareRuns, WithoutBlocksTheSameRunsWouldBeAccused) {
  int accused = 0;
  for (std::uint64_t trial = 1; trial <= 200; ++trial) {
    const MadeSeries made{.count = 300, .spread = 0.02, .phi = 0.8};
    const auto a = made_series(made, trial),
               b = made_series(made, trial + 1000);
    const double se = std::hypot(standard_error(a), standard_error(b));
    accused += std::fabs(mean(a) - mean(b)) > 2.576 * se;
  }
  EXPECT_GT(accused, 60);
}

// The same code measured twice differs by 0.8 % on a machine with two cores.
TEST(CompareRuns, ARunsOwnLuckIsNoDifference) {
  EXPECT_LE(false_alarms({.count = 150, .spread = 0.02}, 0.008 / std::sqrt(2)),
            0.05);
}

TEST(CompareRuns, AFivePercentSlowdownIsFound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    found += verdict({.count = 300, .phi = 0.3},
                     {.count = 300, .middle = 1.05, .phi = 0.3},
                     seed) == Change::slower;
  EXPECT_GE(found, 90);
  EXPECT_EQ(verdict({.middle = 1.2}, {.middle = 1}, 1), Change::faster);
}

TEST(CompareRuns, ManyEqualStepsAreTheSameNotUnsure) {
  int same = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    same += verdict({.count = 600, .spread = 0.03},
                    {.count = 600, .spread = 0.03}, seed) == Change::same;
  EXPECT_GE(same, 98);
}

TEST(CompareRuns, FewStepsAreUnsureAndSayWhy) {
  for (const std::size_t count : {1u, 2u, 20u}) {
    const auto metrics = compare_runs({run_of({.count = count}, 1)},
                                      {run_of({.count = count}, 2)});
    EXPECT_EQ(metrics.front().change, Change::unsure) << count;
    EXPECT_NE(metrics.front().why.find("too few"), std::string::npos);
  }
}

TEST(CompareRuns, OneSlowPieceIsNamedThoughTheStepIsNot) {
  TimedRun a = run_of({.count = 400, .spread = 0.01}, 1);
  TimedRun b = run_of({.count = 400, .spread = 0.01}, 2);
  for (StepSample& s : b.steps) s.forward_s += 0.1, s.backward_s -= 0.1;
  const auto metrics = compare_runs({a}, {b});
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].change, Change::same);
  EXPECT_EQ(metrics[1].metric, "forward_s");
  EXPECT_EQ(metrics[1].change, Change::slower);
  EXPECT_NEAR(metrics[1].effect, 0.1, 0.01);
  EXPECT_EQ(metrics[2].change, Change::faster);
}

TEST(CompareRuns, RunsThatDisagreeAmongThemselvesAccuseNobody) {
  const std::vector<TimedRun> a = {run_of({.middle = 1.0}, 1),
                                   run_of({.middle = 1.1}, 2)};
  const std::vector<TimedRun> b = {run_of({.middle = 1.05}, 3),
                                   run_of({.middle = 1.15}, 4)};
  EXPECT_EQ(compare_runs(a, b).front().change, Change::unsure);
}

}  // namespace
}  // namespace lockstep
