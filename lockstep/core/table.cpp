// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};

double number_of(const Cell& cell) {
  if (const auto* d = std::get_if<double>(&cell)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&cell))
    return static_cast<double>(*i);
  return std::nan("");
}

std::string text_of(const Cell& cell) {
  return std::visit(
      Overload{[](std::monostate) -> std::string { return "-"; },
               [](const std::string& s) { return s; },
               [](std::int64_t i) { return format_count(i); },
               [](double d) { return fmt::format("{:.4g}", d); },
               [](bool b) -> std::string { return b ? "yes" : "no"; }},
      cell);
}

std::string shown(const Column& column, const Cell& cell) {
  const bool number = std::holds_alternative<double>(cell) ||
                      std::holds_alternative<std::int64_t>(cell);
  return number && column.show ? column.show(cell) : text_of(cell);
}

std::string csv_of(const Cell& cell) {
  return std::visit(
      Overload{
          [](std::monostate) -> std::string { return ""; },
          [](const std::string& s) { return csv_field(s); },
          [](std::int64_t i) { return std::to_string(i); },
          [](double d) { return std::isfinite(d) ? fmt::format("{}", d) : ""; },
          [](bool b) -> std::string { return b ? "true" : "false"; }},
      cell);
}

Json json_of(const Cell& cell) {
  return std::visit(
      Overload{
          [](std::monostate) { return Json(nullptr); },
          [](double d) { return std::isfinite(d) ? Json(d) : Json(nullptr); },
          [](const auto& value) { return Json(value); }},
      cell);
}

// Screen width of UTF-8 text: continuation bytes take no column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

void append_line(std::string& out, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths,
                 const std::vector<bool>& left) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    const std::string pad(widths[i] - width_of(cells[i]), ' ');
    line += left[i] ? cells[i] + pad : pad + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

Table without_unfilled(Table table) {
  const auto says_nothing = [](const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    return std::holds_alternative<std::monostate>(cell) ||
           (text != nullptr && text->empty());
  };
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    if (!std::ranges::all_of(
            table.rows, [&](const auto& row) { return says_nothing(row[i]); }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

void Table::add(std::vector<Cell> row) {
  check(row.size() == columns.size(), "a row has a cell for every column");
  rows.push_back(std::move(row));
}

std::string to_text(const Table& table) {
  const std::size_t n = table.columns.size();
  std::vector<std::vector<std::string>> lines(1);
  std::vector<std::string> units;
  std::vector<bool> left(n, false);
  bool any_unit = false;
  for (std::size_t i = 0; i < n; ++i) {
    const Column& c = table.columns[i];
    lines[0].push_back(c.title.empty() ? c.name : c.title);
    units.push_back(c.unit);
    any_unit = any_unit || !c.unit.empty();
    left[i] = !table.rows.empty() &&
              std::holds_alternative<std::string>(table.rows[0][i]);
  }
  if (any_unit) lines.push_back(units);
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (std::size_t i = 0; i < n; ++i)
      line.push_back(shown(table.columns[i], row[i]));
  }
  std::vector<std::size_t> widths(n, 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < n; ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  std::string out;
  for (const auto& line : lines) append_line(out, line, widths, left);
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string to_csv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    out += (i > 0 ? "," : "") + csv_field(table.columns[i].name);
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += (i > 0 ? "," : "") + csv_of(row[i]);
    out += "\n";
  }
  return out;
}

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i)
      object[table.columns[i].name] = json_of(row[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

Json to_json(const Table& table) {
  return Json{{"schema", 1}, {"verb", table.verb}, {"rows", rows_json(table)}};
}

std::string to_string(const Table& table, Format format) {
  switch (format) {
    case Format::text:
      return to_text(table);
    case Format::csv:
      return to_csv(table);
    case Format::json:
      return to_json(table).dump(2) + "\n";
  }
  throw Error(Fault::internal, "format", "not an output format");
}

std::function<std::string(const Cell&)> scaled(double factor, int decimals) {
  return [=](const Cell& cell) {
    return fmt::format("{:.{}f}", number_of(cell) * factor, decimals);
  };
}

std::function<std::string(const Cell&)> with(std::string (*format)(double)) {
  return [=](const Cell& cell) { return format(number_of(cell)); };
}

}  // namespace lockstep
