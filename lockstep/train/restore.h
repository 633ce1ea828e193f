// SPDX-License-Identifier: Apache-2.0
// A run that goes on: where its folder's last checkpoint left off, or from the
// start when it was cut off before the first one.
#pragma once

#include <filesystem>

#include "lockstep/train/session.h"

namespace lockstep {

// Collective: every rank reads the folder. Error{Fault::store} where they do
// not see the same.
void restore(Session& session, const std::filesystem::path& run_folder);

}  // namespace lockstep
