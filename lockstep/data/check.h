// SPDX-License-Identifier: Apache-2.0
// Reads every sample of a set once to find those that cannot be read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/data/dataset.h"

namespace lockstep {

struct BrokenSample {
  std::int64_t index = 0;
  std::string what;  // names the file
};

// In order of their index, whatever the number of workers (0: this thread
// alone). `progress` hears now and then, from this thread, how many are done.
std::vector<BrokenSample> check_samples(
    const Dataset& dataset, std::int64_t workers,
    const std::function<void(std::int64_t)>& progress);

}  // namespace lockstep
