// SPDX-License-Identifier: Apache-2.0
// Fits the constants of the table model to measured rows: robust least squares
// in ln(value) with a prior for every term (Ceres, its own iterative solver).
#pragma once

#include <span>

#include "lockstep/predict/table_model.h"

namespace lockstep {

struct MeasuredRow {
  TableFacts facts;
  double efficiency = 1;
};

// Rows of a table that say what was measured; the others are passed over.
std::vector<MeasuredRow> measured_rows(const Csv& csv);

struct TableFitOptions {
  double noise = 0.03;  // of ln(value)
  int max_iterations = 100;
  // Where to start; empty: the terms' defaults.
  const TableConstants* from = nullptr;
};

TableConstants fit_table(std::span<const MeasuredRow> rows,
                         const TableFitOptions& options = {});

// The data file that ships with the program, with units and numbers of rows.
std::string constants_csv(const TableConstants& constants,
                          std::span<const MeasuredRow> rows);

}  // namespace lockstep
