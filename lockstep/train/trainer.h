// SPDX-License-Identifier: Apache-2.0
// The training loop: steps of a strategy, epoch by epoch, with evaluation and
// checkpoints between them.
#pragma once

#include "lockstep/train/session.h"

namespace lockstep {

enum class Ending { done, interrupted };

// Collective. Goes on from the session's position to the end of the settings,
// or until the stop flag is set: then a checkpoint is written first.
Ending train(Session& session);

}  // namespace lockstep
