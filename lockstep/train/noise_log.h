// SPDX-License-Identifier: Apache-2.0
// The noise scale while training: norms of measured steps, brought together at
// rank 0 between steps, turned into estimates, averages and noise.csv. No step
// waits for them and none sends more.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "lockstep/core/sample.h"
#include "lockstep/strategy/grad_norms.h"
#include "lockstep/train/session.h"

namespace lockstep {

// Whether this step measures: a whole one, every noise_every-th, not the first.
bool measures_noise(const Session& session, std::int64_t samples);

// Two halves where a rank alone takes one pass: a gradient needs another to be
// compared with. BatchNorm then sees halves in these steps.
std::vector<Batch> in_halves(std::vector<Batch> passes);

class NoiseLog {
 public:
  // Where the step that begins leaves its norms.
  GradNorms* next(std::int64_t step);

  // Collective. Everything since the last call, into the session's averages and
  // noise.csv. Waits for the device.
  void drain(Session& session);

 private:
  struct Measured {
    std::int64_t step = 0;
    GradNorms norms;
  };
  std::deque<Measured> measured_;
};

// Rank 0: what steps of each size take, and those that measured.
void keep_times(BatchState& state, std::span<const StepSample> steps);

// Error{Fault::config} where gradients are not averaged whole.
void check_noise(const RunConfig& config);

// Noise scale of the run so far for its record, from noise.csv.
Json noise_json(const Session& session);

}  // namespace lockstep
