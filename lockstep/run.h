// SPDX-License-Identifier: Apache-2.0
// The spine: one training from settings to record. Read this first.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "lockstep/config/run_config.h"
#include "lockstep/store/run_record.h"

namespace lockstep {

class Group;

struct RunOptions {
  std::filesystem::path folder;  // new, or the one to go on with
  bool resume = false;
  std::string command;  // as typed, for the record
  // A signal's number once one came; the run then ends after its step.
  const std::atomic<int>& stop;
  Json advice = Json::object();  // what it was run by, for the record
};

// Collective: every rank of the group calls it with the same settings. Rank 0
// writes the folder. Throws Error; an interrupted run returns with status
// "interrupted" and its checkpoint written.
RunRecord run(const RunConfig& config, const RunOptions& options, Group& group);

}  // namespace lockstep
