// SPDX-License-Identifier: Apache-2.0
// When the epochs of a run ended. A run that was not timed takes the times of
// those that were and differ from it in their seed alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/config/run_config.h"

namespace lockstep {

struct EpochTimes {
  std::string settings;  // all but the seed
  bool timed = true;
  bool cut_short = false;     // it diverged: others may have more epochs
  std::vector<double> end_s;  // of each epoch, from the beginning
  double step_s = 0;          // median
};

// What two runs have in common that may lend each other their times.
std::string settings_but_seed(const RunConfig& config);

// Means over the timed runs of the same settings with as many epochs, or more
// for one that was cut short. Nothing where there is none.
std::optional<EpochTimes> borrowed(const EpochTimes& run,
                                   std::span<const EpochTimes> all);

}  // namespace lockstep
