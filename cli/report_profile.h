// SPDX-License-Identifier: Apache-2.0
// lockstep report PROFILE: each layer's measured time against its floor; and
// of a validation, which is told in the same way.
#pragma once

#include <string>

#include "lockstep/core/json.h"
#include "lockstep/core/table.h"

namespace lockstep::cli {

struct ProfileReportAsked {
  std::string device, hardware, recipe;
  bool any() const {
    return !device.empty() || !hardware.empty() || !recipe.empty();
  }
};

// A .json file; runs and studies are folders.
bool is_profile(const std::string& path);

// What there is to say, before it is known how.
struct ProfileReport {
  Table table;
  std::string words;  // the sentence, then notes
  Json document;
};
ProfileReport report_profile(const std::string& path,
                             const ProfileReportAsked& asked);
// The same of a folder that `predict --validate` wrote.
ProfileReport report_validation(const std::string& folder);
bool is_told(const std::string& path);  // as one of the two

}  // namespace lockstep::cli
