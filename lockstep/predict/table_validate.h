// SPDX-License-Identifier: Apache-2.0
// How good the table model is on rows it has not seen: whole sources, whole
// repositories, or every curve of a model on a GPU are held back, the constants
// fitted on the rest, and the rows held back predicted.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/predict/table_fit.h"
#include "lockstep/predict/table_predict.h"

namespace lockstep {

struct HeldBack {
  TableRow row;
  double measured = 1, predicted = 1;  // efficiencies
  double spread = 0;                   // half of the 90 % interval, ln(value)
  double scale = 0;                    // spread before calibration
  double class_median = 1;  // of the same link and number of GPUs elsewhere

  double error() const { return predicted / measured - 1; }
  bool covered() const;
  bool right_verdict(double efficiency) const;
};

// Which rows are held back together.
enum class Together { source, repository, model_and_gpu };
std::string_view word(Together together);
std::string together_key(const TableRow& row, Together together);

// In `folds` parts of whole groups (0: one part a group); the answer keeps the
// order of the rows.
std::vector<HeldBack> hold_back(std::span<const TableRow> rows,
                                Together together, int folds);

struct TableScore {
  std::size_t rows = 0;
  double mean_error = 0, p95_error = 0, bias = 0;
  double right_verdicts = 0, coverage = 0, mean_width = 0;  // high / low
};
using Guess = std::function<double(const HeldBack&)>;
TableScore score(std::span<const HeldBack> rows);
// The same for another guess of the efficiency, without intervals.
TableScore score(std::span<const HeldBack> rows, const Guess& guess);

// The factor on scale that makes 90 % of the rows lie inside.
double calibrated_spread(std::span<const HeldBack> rows);

std::vector<TableRow> measured_table(const Csv& csv);

}  // namespace lockstep
