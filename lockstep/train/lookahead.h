// SPDX-License-Identifier: Apache-2.0
// optim.lookahead_steps: every so many steps parameters and running statistics
// are drawn to an average over the run, more as it goes on, and end on it
// (Lookahead, Zhang 2019, with Jordan's growing memory). Few and large steps
// reach the accuracy that many small ones would.
#pragma once

#include "lockstep/train/session.h"

namespace lockstep {

// The average begins where training does. Nothing when a checkpoint has it.
void begin_lookahead(Session& session);

// After a step; `share` of the training is behind, 1 at the end.
void look_ahead(Session& session, double share);

// What a checkpoint keeps of it.
StatePart lookahead_part(Session& session);

// Error{Fault::config} where ranks hold different parameters between steps.
void check_lookahead(const RunConfig& config);

}  // namespace lockstep
