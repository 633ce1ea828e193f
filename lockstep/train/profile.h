// SPDX-License-Identifier: Apache-2.0
// `lockstep profile`: a few dozen steps of a recipe's model on one device at
// two or more batch sizes, as the public profile.json (plan/profile.h).
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/config/run_config.h"
#include "lockstep/plan/profile.h"

namespace lockstep {

struct ProfileOptions {
  std::vector<std::int64_t> batches;  // empty: 1/4, 1/2 and all of the recipe's
  std::int64_t steps = 24;            // timed at each batch size
};

// The recipe on one rank without messages. `group` has one rank.
// Error{Fault::config}: fewer than two sizes or too few steps.
Profile measure_profile(const RunConfig& recipe, const ProfileOptions& options,
                        Group& group);

// The same on so many ranks of this machine at once, each alone with its data:
// what sharing the machine costs is in it, what sending costs is not. They
// begin each step together, as ranks that wait for each other do, and share the
// cores out evenly where the recipe does not say.
Profile measure_profile_beside(RunConfig recipe, const ProfileOptions& options,
                               int ranks);

}  // namespace lockstep
