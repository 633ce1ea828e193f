// SPDX-License-Identifier: Apache-2.0
// train.rehearse: some steps of each batch size and an evaluation before the
// clock starts, so that the choice of kernels and the capture of graphs are not
// in the first epoch's time; then everything is put back as it was.
#pragma once

#include "lockstep/train/trainer.h"

namespace lockstep {

// Collective. The run that follows is the one that it would have been without,
// to the bit on a CPU. Leaves what it did in `session.rehearsal`.
Ending rehearse(Session& session);

// Error{Fault::config} where steps leave something that cannot be put back.
void check_rehearsal(const RunConfig& config);

}  // namespace lockstep
