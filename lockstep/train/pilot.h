// SPDX-License-Identifier: Apache-2.0
// batch.mode = information: trains a little at each candidate, all from the
// same weights, takes the batch whose predictions learn fastest by the
// information criterion, and puts everything back as it was.
#pragma once

#include "lockstep/train/trainer.h"

namespace lockstep {

// Collective. Nothing for other modes, or when a checkpoint knows the answer.
// The run that follows is the one that a fixed batch of that size gives.
Ending run_pilot(Session& session);

// Error{Fault::config} where there is no information to go by.
void check_pilot(const RunConfig& config, const DataSplit& data);

}  // namespace lockstep
