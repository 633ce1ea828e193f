// SPDX-License-Identifier: Apache-2.0
// Runs of a study whose times say nothing: they ran beside others, or with more
// ranks than the machine has room for. Their ledger knows.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace lockstep {

struct NotTimed {
  std::string why;
  bool shared = false;  // it ran beside others
};

// Remembers the ledgers it read.
class UntimedRuns {
 public:
  // Nothing for a run that was timed, or is of no study. An emulated run of a
  // study counts as not timed: its links are not real. Valid as long as this.
  const NotTimed* find(const std::filesystem::path& run);

 private:
  using Runs = std::map<std::filesystem::path, NotTimed>;
  std::map<std::filesystem::path, Runs> studies_;
};

}  // namespace lockstep
