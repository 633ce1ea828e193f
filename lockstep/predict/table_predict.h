// SPDX-License-Identifier: Apache-2.0
// A whole table in, the same table with predictions out.
#pragma once

#include <optional>
#include <string>

#include "lockstep/predict/table_interval.h"
#include "lockstep/predict/table_model.h"

namespace lockstep {

// In the metric's unit, or speed-up: what OUT says of a row.
struct RowPrediction {
  std::optional<double> value, low, high,
      speedup;  // none without a 1-GPU value
  Verdict verdict = Verdict::scales;
  Cause cause = Cause::compute;
  std::string note;  // what was guessed, in a few words
};
RowPrediction predict_row(const TableRow& row, const TableConstants& with);

// IN's columns but value, speedup and efficiency, in their order, and then
// predicted_value, lo90, hi90, predicted_speedup, verdict, cause, note.
// Error{Fault::config} with file and line for a table that cannot be read.
std::string predict_table(const Csv& in, const TableConstants& with);

}  // namespace lockstep
