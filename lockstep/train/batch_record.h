// SPDX-License-Identifier: Apache-2.0
// What a run's record says about its batch: sizes, noise, decisions, the
// pilot's cost, and the result of a learning-rate range test.
#pragma once

#include <span>

#include "lockstep/core/sample.h"
#include "lockstep/train/session.h"

namespace lockstep {

// Into the record's summary, at rank 0, with the run's steps. Writes range.csv
// after a range test.
void put_batch_summary(Json& summary, const Session& session,
                       std::span<const StepSample> steps);

}  // namespace lockstep
