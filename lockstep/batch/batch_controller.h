// SPDX-License-Identifier: Apache-2.0
// Which batch size to go on with, from measured step times and the noise scale.
// A pure function: the trainer measures, asks, and writes the answer down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/batch/step_time.h"

namespace lockstep {

// A step's samples on all ranks together, and the passes each rank takes.
struct StepSize {
  std::int64_t global = 0;
  std::int64_t passes = 1;
  bool operator==(const StepSize&) const = default;
};

struct BatchLimits {
  std::int64_t least = 1, most = 1;  // global
  std::int64_t most_per_pass = 1;    // of one rank
  std::int64_t ranks = 1;
  double min_gain = 0.05;
};

struct BatchEvidence {
  // Seconds of a pass by the samples of one rank in it, a row for each size
  // that was trained. One row is enough: half of it then counts as fixed.
  std::vector<StepTime> pass_times;
  std::int64_t noise_samples = 0;
  double noise_scale = 0;  // infinite while it is not told from noise
  double base_batch = 1;
};

struct BatchDecision {
  StepSize size;
  double predicted_gain = 0;  // of goodput, against going on as now
  std::string reason;
};

// Weighs sizes a factor sqrt(2) apart, from half to twice the present one, by
// goodput; changes for a gain above min_gain. The noise scale counts as at most
// 100 times the base batch: it has no bound where the gradient vanishes.
BatchDecision decide_batch(const StepSize& now, const BatchEvidence& evidence,
                           const BatchLimits& limits);

// The fewest passes whose samples a rank can hold.
StepSize sized(std::int64_t global, const BatchLimits& limits);

// Noise samples before anything is decided from them.
constexpr std::int64_t kLeastNoiseSamples = 10;
constexpr double kMostNoiseScale = 100;  // in base batches

}  // namespace lockstep
