// SPDX-License-Identifier: Apache-2.0
// A table that is printed three ways with the same field names: text for
// people, CSV and JSON for programs. Values stay numbers until the last step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/core/json.h"

namespace lockstep {

// An empty cell is "unknown": "-" in text, empty in CSV, null in JSON.
using Cell =
    std::variant<std::monostate, std::string, std::int64_t, double, bool>;

struct Column {
  std::string name;        // field name in CSV and JSON, SI unit as suffix
  std::string title = {};  // head of the text column; empty: the name
  std::string unit = {};   // second head row of the text table, such as "(ms)"
  // How the text table shows a number; CSV and JSON keep it as it is.
  std::function<std::string(const Cell&)> show = {};
};

struct Table {
  std::string verb;  // which command made it
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};

  void add(std::vector<Cell> row);
};

// For people: without the columns in which no row says anything.
Table without_unfilled(Table table);

enum class Format { text, csv, json };

std::string to_text(const Table& table);
std::string to_csv(const Table& table);
// {"schema": 1, "verb": …, "rows": [{name: value, …}, …]}
Json to_json(const Table& table);
// Its rows alone.
Json rows_json(const Table& table);
std::string to_string(const Table& table, Format format);

// Shows a number times `factor` with so many decimals.
std::function<std::string(const Cell&)> scaled(double factor, int decimals);
// Shows a number through one of the functions of units.h.
std::function<std::string(const Cell&)> with(std::string (*format)(double));

// One CSV field, quoted where it must be.
std::string csv_field(const std::string& text);

}  // namespace lockstep
