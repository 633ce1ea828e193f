// SPDX-License-Identifier: Apache-2.0
// What a run of a study measured, and what several runs of one point say
// together: the median step with its 95 % interval.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "lockstep/core/json.h"

namespace lockstep {

// Seconds of the steps that count; the slowest rank's of each step.
struct RunTimes {
  std::vector<double> full_s;     // steps with a whole global batch
  std::vector<double> partial_s;  // the last, smaller step of an epoch
  double epoch_samples = 0, global_batch = 1;
};

// Steps from `warmup` on. Error{Fault::store} for a folder without a run.
RunTimes times_of(const std::filesystem::path& run, std::int64_t warmup);

struct PooledTimes {
  std::int64_t runs = 0, samples = 0;
  double median_step_s = 0, lo95_s = 0, hi95_s = 0;
  double epoch_s = 0;

  // The wider side of the interval as a share of the median.
  double half_width() const;
};

// Runs are drawn, then steps of the drawn runs: a machine that was slower
// during one run widens the interval. Some run must have a full step.
PooledTimes pool(std::span<const RunTimes> runs);

// Steps of an epoch times the median step; the smaller last one as measured,
// or by its share where no run came that far.
double epoch_of(const RunTimes& times, double full_step_s);

// The `result` of a done event: docs/study.md. `warmup` < 0: whole epochs were
// trained, their own times count.
Json result_of(const std::filesystem::path& run, std::int64_t warmup);

}  // namespace lockstep
