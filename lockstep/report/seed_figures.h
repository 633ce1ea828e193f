// SPDX-License-Identifier: Apache-2.0
// What the seeds published: their numbers beside this study's, and the faults
// without which they must not be read.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"

namespace lockstep {

// One number a seed published.
struct SeedFigure {
  std::string figure;  // "Table 1", "Figures 3 and 11"
  std::string model, quantity, unit;
  std::int64_t ranks = 1, global_batch = 0, per_rank = 0;
  double value = 0;
};
// By a study's kind; empty where the seed printed no numbers.
std::vector<SeedFigure> seed_figures(const std::string& kind);

// Each figure with what this study has for the same model, ranks and batch (on
// its own hardware), and for seed 000 what the predictor says for its GPUs.
Table seed_table(const Study& study);

std::vector<std::string> seed_faults(const std::string& kind);

}  // namespace lockstep
