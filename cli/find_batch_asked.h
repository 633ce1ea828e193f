// SPDX-License-Identifier: Apache-2.0
// What `lockstep find-batch` was told, the same in both builds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/table.h"

namespace lockstep::cli {

struct FindBatchAsked {
  std::string recipe;
  std::vector<std::string> sets;
  std::int64_t ranks = 0;
  double seconds = 90, memory_gb = 0;
  Format format = Format::text;
};

// The exit code.
int run_find_batch(const FindBatchAsked& asked);

}  // namespace lockstep::cli
