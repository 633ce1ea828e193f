// SPDX-License-Identifier: Apache-2.0
// What a study's ledger knows beyond its run folders: its title, which points
// were for correctness only, which failed and why, which were predicted.
#pragma once

#include <filesystem>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

// Nothing happens where there is no ledger.
void add_ledger(Study& study, const std::filesystem::path& folder);

}  // namespace lockstep
