// SPDX-License-Identifier: Apache-2.0
// What `lockstep profile` was told, the same in both builds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/table.h"

namespace lockstep::cli {

struct ProfileAsked {
  std::string recipe, out = "profile.json", batches;
  std::vector<std::string> sets;
  std::int64_t steps = 24, ranks = 1;
  Format format = Format::text;
};

// The exit code.
int run_profile(const ProfileAsked& asked);

}  // namespace lockstep::cli
