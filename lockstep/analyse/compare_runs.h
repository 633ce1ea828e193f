// SPDX-License-Identifier: Apache-2.0
// Is B slower than A? One word for each metric, slow to accuse: a difference
// counts when its 99 % interval, from blocks of neighbouring steps, lies beyond
// a margin, since the same code measured twice differs by about 1 %.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/run_facts.h"
#include "lockstep/core/sample.h"

namespace lockstep {

enum class Change { faster, slower, same, unsure };
std::string_view word(Change change);

struct CompareRunsOptions {
  double margin = 0.02;  // share of a step that does not matter
  double level = 0.99;
};

// What is compared: settled steps of rank 0, run by run.
struct TimedRun {
  std::string name, machine;
  std::vector<StepSample> steps;
};
TimedRun read_timed(const std::filesystem::path& path);

struct MetricChange {
  std::string metric;       // step_s, forward_s, …
  double a_s = 0, b_s = 0;  // medians
  // B less A as a share of A's step, with its interval; positive: B is slower.
  double effect = 0, low = 0, high = 0;
  std::size_t a_count = 0, b_count = 0, a_blocks = 0, b_blocks = 0;
  Change change = Change::unsure;
  std::string why = {};  // of UNSURE
};

// Series of one metric: the seam the tests use.
MetricChange compare_series(const std::string& metric,
                            const std::vector<std::vector<double>>& a,
                            const std::vector<std::vector<double>>& b,
                            double a_step_s, const CompareRunsOptions& options);

// The step first, then each piece that either run spent time on. Several runs
// a side: the spread between them widens the interval.
std::vector<MetricChange> compare_runs(const std::vector<TimedRun>& a,
                                       const std::vector<TimedRun>& b,
                                       const CompareRunsOptions& options = {});

}  // namespace lockstep
