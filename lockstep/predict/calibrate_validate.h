// SPDX-License-Identifier: Apache-2.0
// How good a calibrated system is on epochs it has not seen: every epoch of a
// model on a number of GPUs is held back, the rest fitted, and those predicted.
// Beside it a published case: weak scaling fitted, strong scaling predicted.
#pragma once

#include <span>
#include <vector>

#include "lockstep/predict/calibrate.h"

namespace lockstep {

struct HeldBackEpoch {
  EpochRun run;  // with what was measured
  EpochForecast forecast;

  double error() const { return forecast.epoch_s / run.epoch_s - 1; }
  bool covered() const {
    return forecast.low_s <= run.epoch_s && run.epoch_s <= forecast.high_s;
  }
};

// All rows with two or more GPUs, in their order, where the rest still knows
// the model.
std::vector<HeldBackEpoch> hold_back_gpus(std::span<const EpochRun> runs,
                                          double epoch_samples);

// ResNet-18 on CIFAR-10 (seed 004, Table 1): fitted on 32, 128 and 512 samples
// a GPU on 1, 2 and 4 GPUs; predicted for 32 samples in all, on 2 and 4.
std::vector<HeldBackEpoch> strong_from_weak();

}  // namespace lockstep
