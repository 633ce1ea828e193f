// SPDX-License-Identifier: Apache-2.0
// The tables of `lockstep predict --calibrate`: epochs measured on a system in,
// other epochs on it out.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/csv.h"
#include "lockstep/predict/calibrate.h"

namespace lockstep {

// Rows of columns model, gpus, batch and epoch_s. `conv` and `mobilenetv2` are
// other names of built-in models. Error{Fault::config} with file and line for
// a cell that is no such thing.
std::vector<EpochRun> measured_epochs(const Csv& csv);

// Samples of an epoch: the `samples` column where there is one, or seed 000's
// 2,000 clips.
double epoch_samples_of(const Csv& csv);

// IN's columns but epoch_s and predicted_value, lo90, hi90, verdict, cause.
std::string predict_epochs(const Csv& in, const SystemFit& system);

}  // namespace lockstep
