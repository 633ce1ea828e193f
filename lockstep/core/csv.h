// SPDX-License-Identifier: Apache-2.0
// Reads comma-separated tables (RFC 4180: quotes, doubled quotes, CRLF, a byte
// order mark). Cells stay text: who reads a column knows what it means.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/error.h"

namespace lockstep {

struct CsvRow {
  std::size_t line = 0;  // where the row begins in the file, from 1
  std::vector<std::string> cells;
};

struct Csv {
  std::string name;  // of the file, for errors
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // each as wide as the header

  std::optional<std::size_t> column(std::string_view title) const;
  // Error{fault} with the file's name when the column is missing; the hint
  // says so when the separator looks wrong.
  std::size_t required(std::string_view title, Fault fault) const;
  std::string place(const CsvRow& row) const;  // "file.csv:12"
};

// Blank lines are passed over. Error{fault} with file and line for a row of
// another width than the header, an open quote, a binary file or no header.
Csv parse_csv(std::string_view text, const std::string& name, Fault fault);

}  // namespace lockstep
