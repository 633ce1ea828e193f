// SPDX-License-Identifier: Apache-2.0
// The ranks of a verb that trains: which group they talk through, from the
// settings and the launcher, and what runs on each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/config/run_config.h"

namespace lockstep::cli {

// `--set`s with what `--ranks` said (0: nothing).
std::vector<std::string> with_ranks(std::vector<std::string> sets,
                                    std::int64_t ranks);

// What the run gets to talk with: never something else than was asked.
// `ranks`: what `--ranks` said.
RunConfig with_group(RunConfig config, std::int64_t ranks);

// Runs `body` on each of this process's ranks, of a config from with_group().
// A rank that was left behind may still run `body` later: it owns what it uses.
void run_group(const RunConfig& config, std::function<void(Group&)> body);

}  // namespace lockstep::cli
