// SPDX-License-Identifier: Apache-2.0
// The runs of a study as the comparison of batch sizes wants them: learning
// curves against training time, from each run's folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lockstep/batch/batch_run.h"
#include "lockstep/config/run_config.h"

namespace lockstep {

// Folders with an epochs.csv under STUDY/runs, or in the folder itself.
// A run that is not done is left out and named, unless it ended because it
// diverged (a training loss that is not a number): that is a result.
// `classes` is taken from the records where it is 0. Error{Fault::config} when
// there is no run, Error{Fault::store} for a damaged one.
BatchRuns read_batch_runs(const std::filesystem::path& study,
                          std::int64_t classes);

// The settings of one of those runs, by its name there.
RunConfig config_of_run(const std::filesystem::path& study,
                        const std::string& name);

}  // namespace lockstep
