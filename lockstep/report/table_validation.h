// SPDX-License-Identifier: Apache-2.0
// The validation of table predictions as files: JSON, CSV, Markdown and
// pictures of predicted against measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/predict/calibrate_validate.h"
#include "lockstep/predict/table_validate.h"

namespace lockstep {

using HeldRows = std::vector<HeldBack>;

// One way of holding rows back.
struct TableValidation {
  Together together = Together::source;
  HeldRows rows;
};

// Epochs of calibrated systems (epoch_validation.cpp).
struct EpochValidation {
  std::vector<HeldBackEpoch> held_back, strong;
};
Json epochs_json(const EpochValidation& validation);
std::string epochs_csv(const EpochValidation& validation);
std::string epochs_section(const EpochValidation& validation);  // Markdown

// Which rows carry the error, and what a second source makes of the same rows
// (error_breakdown.cpp).
Json errors_json(const HeldRows& rows);
std::string errors_section(const HeldRows& rows);  // Markdown

// Writes validation.json, validation.csv, epochs.csv, README.md and
// predicted_*.svg into `folder`, which is made. `command` made them.
void write_validation(const std::filesystem::path& folder,
                      const std::string& command,
                      const std::vector<TableValidation>& validations,
                      const EpochValidation& epochs);

// Predicted against measured efficiency, a dot a row.
std::string scatter_svg(const HeldRows& rows, const std::string& title);

}  // namespace lockstep
