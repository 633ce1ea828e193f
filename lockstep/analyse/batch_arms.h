// SPDX-License-Identifier: Apache-2.0
// Runs that are compared by batch size may differ in more than that: each way
// of training is an arm of its own, named by the settings that tell it apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/config/run_config.h"

namespace lockstep {

// For each run, settings in which not all runs agree: enough to tell which.
std::vector<std::string> batch_arms(std::span<const RunConfig> runs);

}  // namespace lockstep
