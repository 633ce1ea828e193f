// SPDX-License-Identifier: Apache-2.0
// How large steps are, and what was learned on the way about noise and times.
// Plain data: noise_log.cpp and adaptive_batch.cpp move it on, a checkpoint
// keeps it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lockstep/batch/batch_controller.h"
#include "lockstep/batch/noise_scale.h"
#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"
#include "lockstep/train/train_state.h"

namespace lockstep {

// Seconds of the latest steps of one size, oldest first; rank 0's.
using StepTimes = std::vector<double>;
constexpr std::size_t kKeptTimes = 64;

struct BatchState {
  StepSize size;  // of the next step
  std::int64_t ranks = 1;
  std::int64_t since = 0;        // the first step of that size
  std::int64_t decided = -1;     // step of the last decision; not kept
  bool search = true;            // for kernels of this size; not kept
  double gain = 1;               // AdaScale's: the rate is multiplied by it
  double progress = 0;           // adaptive: samples, as worth at base batch
  std::int64_t noise_every = 0;  // steps between two measurements; 0: never

  // Rank 0's.
  NoiseAverage noise;
  std::map<std::int64_t, StepTimes> pass_s;  // by a rank's samples in a pass
  StepTimes measured_s;  // whole steps of this size that measured noise
  std::int64_t num_decisions = 0, num_changes = 0;
  Json pilot = {};  // what a pilot found and cost; null: there was none
};

// As the settings begin.
BatchState first_batch(const RunConfig& config);

// The global batch that the learning rate was tuned for.
double base_batch(const RunConfig& config);

// What measuring adds to a step, as a share of one; NaN before both kinds of
// step were timed.
double noise_cost(const BatchState& state);

// A rank's samples in a pass, the key of pass_s.
std::int64_t per_pass(const StepSize& size, std::int64_t ranks);
double median_of(StepTimes times);

StatePart batch_part(BatchState& state);

}  // namespace lockstep
