// SPDX-License-Identifier: Apache-2.0
// One run for people: where the time of a step goes, as a table and a bar, the
// epochs, and one line of conclusion.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/sample.h"
#include "lockstep/core/table.h"
#include "lockstep/store/run_record.h"

namespace lockstep {

struct RunView {
  std::filesystem::path path;
  RunRecord record;
  std::vector<StepSample> steps;
  std::vector<CommSample> messages;
  std::vector<EpochSample> epochs;
  std::string not_timed = {};  // why it has no times, or none
};

// Error{Fault::store} when the folder holds no run, or a damaged one.
RunView read_run(const std::filesystem::path& path);

// Pieces of the median step with their share.
Table step_table(const RunView& run);
Table epochs_table(const RunView& run);

// All of it as text.
std::string to_text(const RunView& run);

}  // namespace lockstep
