// SPDX-License-Identifier: Apache-2.0
// Whether settings let a GPU record a step once and replay it. One place for
// the trainer, which does, and the predictor, which prices it.
#pragma once

#include <string>

#include "lockstep/config/run_config.h"

namespace lockstep {

// Why steps of so many ranks are not recorded, as far as settings say; empty
// when they are, on a GPU and by a group of ranks that allow it.
std::string settings_against_capture(const RunConfig& config,
                                     std::int64_t ranks);

}  // namespace lockstep
