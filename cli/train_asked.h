// SPDX-License-Identifier: Apache-2.0
// What `lockstep train` was told, the same in both builds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/table.h"

namespace lockstep::cli {

struct TrainAsked {
  std::string recipe, out, resume;
  std::vector<std::string> sets;
  std::int64_t ranks = 0;
  bool advise = false;
  double noise_scale = 0;
  Format format = Format::text;
};

// The exit code.
int run_train(const TrainAsked& asked);

}  // namespace lockstep::cli
