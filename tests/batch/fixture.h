// SPDX-License-Identifier: Apache-2.0
// Columns of the CSV files beside the tests.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/csv.h"
#include "lockstep/core/file.h"
#include "lockstep/core/text.h"

namespace lockstep {

inline std::string data_folder() {
  return std::string(LOCKSTEP_SOURCE_DIR) + "/tests/batch/data/";
}

inline std::vector<double> column(const std::string& file,
                                  const std::string& name) {
  const Csv csv = parse_csv(read_file(data_folder() + file, Fault::data), file,
                            Fault::data);
  std::vector<double> values;
  const std::size_t at = csv.required(name, Fault::data);
  for (const CsvRow& row : csv.rows)
    values.push_back(parse_number<double>(row.cells[at]).value());
  return values;
}

inline std::vector<int> labels(const std::string& file,
                               const std::string& name) {
  std::vector<int> out;
  for (const double v : column(file, name)) out.push_back(static_cast<int>(v));
  return out;
}

}  // namespace lockstep
