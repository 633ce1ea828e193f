// SPDX-License-Identifier: Apache-2.0
// The cluster that comm.kind=emulated stands for: one real rank whose messages
// take the time that the predictor gives them on the link of comm.link.
#pragma once

#include <memory>

#include "lockstep/comm/group.h"
#include "lockstep/config/run_config.h"

namespace lockstep {

// Null for every other kind. Error{Fault::config} for a link that is not known
// or cannot join so many ranks.
std::unique_ptr<Group> emulate(const RunConfig& config);

}  // namespace lockstep
