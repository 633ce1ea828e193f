// SPDX-License-Identifier: Apache-2.0
// Figures 3 to 12 of seed 000 by their numbers: what the seed measured, what is
// predicted for its GPUs, and what this study has of the same model and batch.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

struct FigureTime {
  bool here = false;      // else on the seed's machine
  std::string name = {};  // how it was spread: strategy and arm
  Origin origin = Origin::measured;
  std::int64_t ranks = 1, global_batch = 0;
  double epoch_s = 0, low_s = 0, high_s = 0;  // NaN ends: no interval
};

struct NumberedFigure {
  int number = 0;
  std::string model;
  std::int64_t global_batch = 0;       // of the bars; 0: lines over every batch
  std::vector<FigureTime> times = {};  // empty: this study has nothing for it

  std::string title() const;
};

// The ten figures of a study that follows seed 000, else none. Lines take the
// seed's way to spread a model (data_parallel), bars every way there is.
std::vector<NumberedFigure> numbered_figures(const Study& study);

// Which of them cannot be drawn and why, or empty.
std::string figures_not_drawn(const std::vector<NumberedFigure>& figures);

// "Figures 3 and 11": where the seed shows these times.
std::string figures_with(const std::string& model, std::int64_t global_batch);

Json to_json(const std::vector<NumberedFigure>& figures);

}  // namespace lockstep
