// SPDX-License-Identifier: Apache-2.0
// Everything `lockstep batch` says about a set of runs, ready to be printed:
// tables for stdout, context for stderr.
#pragma once

#include <string>
#include <vector>

#include "lockstep/batch/compare.h"
#include "lockstep/core/table.h"

namespace lockstep {

struct BatchReport {
  Table batches, choices, curve, sensitivity;
  std::vector<std::string>
      context;  // where numbers come from, what was left out
};

BatchReport make_batch_report(const BatchRuns& runs,
                              const CompareOptions& options);

// Text and JSON hold all four; JSON's `rows` are the batches. CSV is one table:
// batches, choices, curve or sensitivity, else Error{Fault::config}.
std::string to_string(const BatchReport& report, Format format,
                      const std::string& csv_table);

}  // namespace lockstep
