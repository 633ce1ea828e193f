// SPDX-License-Identifier: Apache-2.0
// What data this machine has, for `lockstep data list` and `check`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/config/data.h"

namespace lockstep {

struct FoundSet {
  DataKind kind = DataKind::digits;
  std::filesystem::path path;
  std::string found_by;
  std::int64_t files = 0, bytes = 0;
  std::string state;  // "ready", "stand-in", or what is in the way
};

// Every set in the places that are searched. Looks at names and sizes only.
std::vector<FoundSet> survey_data();

struct CheckedSet {
  std::int64_t samples = 0;
  std::vector<std::string> broken;  // "file: what is wrong with it"
};

// Decodes every sample of the set at `path` (as data.path). `progress` hears
// how many of how many are done. Throws Error{Fault::data} where the set as a
// whole cannot be opened.
CheckedSet check_set(
    DataKind kind, const std::string& path, std::int64_t workers,
    const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace lockstep
