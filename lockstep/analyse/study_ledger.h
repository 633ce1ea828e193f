// SPDX-License-Identifier: Apache-2.0
// What a study's ledger knows beyond its run folders: its title, which points
// were for correctness only, which failed and why, which were predicted.
#pragma once

#include <filesystem>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

// Where `folder` has a ledger: its title, its warnings, and for each of its
// runs that was read, why it ran and in which arm.
void mark_runs(Study& study, const std::filesystem::path& folder);

// Points that did not run, or failed, once those that ran are sorted.
void add_unrun_points(Study& study, const std::filesystem::path& folder);

}  // namespace lockstep
