// SPDX-License-Identifier: Apache-2.0
// Losses and hits of the steps since the last flush, kept on the device so
// that no step waits to be read; then all ranks' together, in the order of
// steps and ranks, so that sums do not depend on when they are taken.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/strategy/strategy.h"
#include "lockstep/train/session.h"

namespace lockstep {

// What one step of one rank came to.
struct StepResult {
  double loss = 0;  // mean over its samples; NaN without samples
  std::int64_t samples = 0, predictions = 0, correct = 0;
};

class StepLog {
 public:
  StepLog(std::int64_t steps, c10::Device device);

  void add(const StepOutcome& outcome, std::int64_t samples,
           std::int64_t predictions);
  // The steps since the last call. Waits for the device.
  std::vector<StepResult> drain();

 private:
  at::Tensor losses_, correct_;
  std::vector<StepResult> results_;
};

// Collective. All ranks' results, added to rank 0's totals.
void add_up(EpochTotals& totals, const std::vector<StepResult>& mine,
            Group& group);

// Collective. All ranks' samples at rank 0, by step and rank; nothing
// elsewhere.
Recorder::Samples gather_samples(Group& group, const Recorder::Samples& mine);

}  // namespace lockstep
