// SPDX-License-Identifier: Apache-2.0
// Overfitting, measured: training against validation accuracy at the end of
// each configuration, and the epoch where its validation loss turns.
#pragma once

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"

namespace lockstep {

// A row for each configuration that was evaluated in two epochs or more, means
// over its runs; no rows where nothing was held back. Epochs count from 1.
Table overfitting_table(const Study& study);

}  // namespace lockstep
