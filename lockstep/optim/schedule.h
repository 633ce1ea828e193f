// SPDX-License-Identifier: Apache-2.0
// The learning rate at a point of training: a pure function of the settings.
#pragma once

#include "lockstep/config/optim.h"

namespace lockstep {

// `epoch` counts with fractions: 2.5 is the middle of the third, and step s of
// n in epoch e is e + s / n. First warm-up, evenly from zero to the full rate;
// then the schedule, whose cosine and line run from the end of warm-up to
// `total_epochs` and whose drops come at multiples of `step_epochs` counted
// from the first epoch.
double learning_rate(const OptimConfig& config, double epoch,
                     double total_epochs);

}  // namespace lockstep
