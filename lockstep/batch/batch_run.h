// SPDX-License-Identifier: Apache-2.0
// What the comparison of batch sizes needs to know of one run, as plain
// values: wherever it was read from.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/batch/step_time.h"

namespace lockstep {

struct Evaluation {
  double time_s = 0;  // of training alone, since its start
  double steps = 0;   // since its start
  double nats = 0;    // information of the predictions; NaN: not measured
  double accuracy = 0;
};

// Noise scale of a run's second half with its 90 % interval, where the samples
// there are enough to tell.
struct LateNoise {
  double value = 0, low = 0, high = 0;
};

struct BatchRun {
  std::string name;
  std::string arm;  // settings that set it apart, other than those below
  std::int64_t ranks = 1;
  double batch = 0;  // global
  double lr = std::nan("");
  std::vector<Evaluation> curve = {};  // up to where it diverged
  bool diverged = false;
  double step_s = std::nan("");          // median
  std::vector<double> noise_scale = {};  // along the run, where measured
  std::optional<LateNoise> late_noise = {};
};

// A run that chose its batch itself; `run.batch` is the one it ended with.
struct ChoosingRun {
  BatchRun run;
  std::string mode;        // how, in words
  double first_batch = 0;  // as set
  double pilot_s = 0;      // before training began
};

struct BatchRuns {
  std::vector<BatchRun> runs = {};
  std::vector<ChoosingRun> choosing = {};
  std::int64_t classes = 0;        // 0: not known
  std::int64_t eval_examples = 0;  // 0: not known
  // False: several of them are one training under different clocks.
  bool independent = true;
  bool recorded = false;                // `nats` are measured, not Fano's bound
  std::string information;              // how `nats` came to be, in words
  std::vector<std::string> notes = {};  // what was left out, and why
  // More step times by ranks than the runs alone give, in order of batch.
  std::map<std::int64_t, std::vector<StepTime>> step_times = {};
};

}  // namespace lockstep
