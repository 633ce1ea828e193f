// SPDX-License-Identifier: Apache-2.0
// Reads the traces that came with Pollux (petuum/adaptdl, branch
// osdi21-artifact): validation-<batch>.csv, placements.csv, scalability.csv.
// A run there has no clock: its time is steps x the measured time of a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "lockstep/batch/batch_run.h"

namespace lockstep {

// True when the folder looks like one.
bool holds_published_traces(const std::filesystem::path& folder);

// One run for each batch size and number of ranks; of several placements of so
// many ranks the one on the fewest nodes. A batch whose share of a rank was not
// timed is left out and named. `classes` turn accuracy into information.
// Error{Fault::config} with file and line for what cannot be read.
BatchRuns read_published_traces(const std::filesystem::path& folder,
                                std::span<const std::int64_t> ranks,
                                std::int64_t classes);

// Powers of two that were measured.
std::vector<std::int64_t> published_rank_counts(
    const std::filesystem::path& folder);

}  // namespace lockstep
