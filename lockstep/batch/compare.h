// SPDX-License-Identifier: Apache-2.0
// All criteria for a batch size side by side, for each number of ranks: what
// every batch size did, which each criterion picks, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/batch/batch_run.h"
#include "lockstep/batch/criterion.h"
#include "lockstep/batch/critical_batch.h"
#include "lockstep/batch/sensitivity.h"

namespace lockstep {

struct CompareOptions {
  double delta = 0.02;
  // Sets the target of information and of plain time both. Without it plain
  // time runs to the highest whole per cent that every sound batch size
  // reaches.
  std::optional<double> target_accuracy = {};
  Crossing crossing = Crossing::interpolated;
};

// One batch size, all its runs.
struct BatchRow {
  double batch = 0, lr = 0;
  std::size_t num_runs = 0, num_diverged = 0;
  double step_s = 0;         // mean of the runs' medians
  double best_accuracy = 0;  // mean over runs
  BatchOutcome information = {};
  std::optional<double> plain_time_s = {};  // first evaluation at the accuracy
  std::optional<double> plain_steps = {};
  std::optional<double> efficiency = {};  // of an example, by the noise scale
  std::optional<double> goodput = {};     // useful examples a second
  std::string note = {};                  // what speaks against it
};

// What one criterion says. `batch` is one of those that ran.
struct Pick {
  std::string criterion;
  std::optional<double> batch = {};
  std::optional<double> exact = {};  // where a formula gives a number
  std::optional<double> low = {}, high = {};
  // Time to the information target beyond the fastest's, as a share of it:
  // what following this criterion would have cost.
  std::optional<double> extra_time = {};
  std::string reason = {};
};

struct TargetChoice {
  double delta = 0, target_nats = 0;
  std::optional<double> batch = {};
};

struct NoiseAlongRun {
  double median = 0, low = 0, high = 0;
  std::string source = {};  // of what, in words
};

// The noise scale goodput goes by, and where it is from.
struct NoiseForGoodput {
  double value = 0, low = 0, high = 0;
  std::string source;
};

struct BatchComparison {
  std::string arm;
  std::int64_t ranks = 1;
  double target_nats = 0;
  std::optional<double> target_accuracy = {};  // of plain time
  std::vector<BatchRow> rows = {};             // in order of batch
  std::vector<Pick> picks = {};          // the information criterion first
  std::vector<TargetChoice> curve = {};  // B* over targets
  double base_batch = 0;                 // smallest of the arm: efficiency 1
  std::optional<CriticalBatch> critical = {};  // of the arm, all ranks
  std::optional<NoiseAlongRun> noise = {};
  std::vector<std::string> notes = {};
};

// One comparison for each arm and number of ranks that sort_arms() keeps.
// Error{Fault::config} when there is one batch size only, Error{Fault::data}
// when nothing can be judged or nothing was learnt.
std::vector<BatchComparison> compare_batch_sizes(const BatchRuns& runs,
                                                 const CompareOptions& options);

// The sweep's own bend where it shows one, else what was measured along the
// run; none where neither is known.
std::optional<NoiseForGoodput> noise_for_goodput(const BatchComparison& c);

// Batch size, learning rate and ranks against rate, accuracy, step time; over
// all runs together. Empty when the runs are not independent.
std::vector<Sensitivity> sensitivity_of(const BatchRuns& runs,
                                        const CompareOptions& options);

}  // namespace lockstep
