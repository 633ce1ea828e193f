// SPDX-License-Identifier: Apache-2.0
// Figures 1 to 6 of seed 002: accuracy and loss over epochs, training and
// validation, of one device and of several. The seed draws one run each; here a
// line is the mean over seeds and its band reaches from the lowest to the
// highest, one figure for each arm (the rate as it is, the rate scaled).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

struct EpochBand {
  double mean = 0, low = 0, high = 0;  // NaN: no run has this epoch
};

struct LearningLine {
  std::string name = {};
  std::int64_t ranks = 1, global_batch = 0, runs = 0;
  // By epoch, in the order of kLearningFields.
  std::array<std::vector<EpochBand>, 4> fields = {};
};
extern const std::array<std::pair<const char*, double EpochSample::*>, 4>
    kLearningFields;

struct LearningFigure {
  int number = 0;
  std::string title = {};
  std::vector<LearningLine> lines = {};
};

// Of a study that follows seed 002, else none. `picked`: the batch that the
// information criterion chose on one device, 0 for none.
std::vector<LearningFigure> learning_figures(const Study& study,
                                             std::int64_t picked);

// Which of the six are missing, or empty.
std::string learning_not_drawn(const std::vector<LearningFigure>& figures);

Json to_json(const std::vector<LearningFigure>& figures);

}  // namespace lockstep
