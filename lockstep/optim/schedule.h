// SPDX-License-Identifier: Apache-2.0
// The learning rate at a point of training: a pure function of the settings.
#pragma once

#include "lockstep/config/optim.h"

namespace lockstep {

// `epoch` counts with fractions: 2.5 is the middle of the third.
double learning_rate(const OptimConfig& config, double epoch,
                     double total_epochs);

}  // namespace lockstep
