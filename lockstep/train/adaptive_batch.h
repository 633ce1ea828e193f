// SPDX-License-Identifier: Apache-2.0
// batch.mode = adaptive: when to decide, rank 0's decision taken by all ranks,
// written to decisions.jsonl, or read from one (batch.decisions) and repeated.
#pragma once

#include "lockstep/train/session.h"

namespace lockstep {

// Every decide_every-th step, once: the same answer on every rank.
bool decision_due(const Session& session);

// Collective. The size of the steps that follow, the gain of their learning
// rate and how often noise is measured. True when the size changed.
bool decide(Session& session);

// What a step of so many samples is worth at the base batch: all of them when
// the batch is fixed, less in a larger one.
double progress_of(const Session& session, std::int64_t samples);

// Error{Fault::config} for a file of decisions that cannot be read.
void check_decisions(const RunConfig& config);

// For the run's record.
Json adaptive_json(const Session& session);

}  // namespace lockstep
