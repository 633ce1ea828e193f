// SPDX-License-Identifier: Apache-2.0
// Predictions as tables: every field for programs, the telling ones for people.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/table.h"
#include "lockstep/predict/grid.h"

namespace lockstep {

// CSV and JSON.
Table prediction_rows(const Subject& subject, const Grid& grid,
                      const std::vector<GridPoint>& points);
// The screen.
Table prediction_summary(const Grid& grid,
                         const std::vector<GridPoint>& points);

// "8 ranks, batch 32: chokes (latency); from batch 96 a rank on, or …" for
// every point that has something to say; empty for the others.
std::vector<std::string> flip_lines(const Grid& grid,
                                    const std::vector<GridPoint>& points);

}  // namespace lockstep
