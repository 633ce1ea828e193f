// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

// Walks over the text once; a cell is closed by a comma or a line's end.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& name, Fault fault)
      : text_(text), name_(name), fault_(fault) {}

  bool done() const { return at_ >= text_.size(); }

  CsvRow row() {
    CsvRow row{.line = line_, .cells = {}};
    while (true) {
      row.cells.push_back(cell());
      if (done()) return row;
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && !done() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

 private:
  std::string cell() {
    if (!done() && text_[at_] == '"') return quoted();
    const auto end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

  std::string quoted() {
    const std::size_t opened = line_;
    std::string out;
    for (++at_; !done(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c != '"') {
        out += c;
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        out += '"';
        ++at_;
      } else {
        ++at_;
        return out + cell_tail();
      }
    }
    throw Error(fault_, fmt::format("{}:{}", name_, opened),
                "a quote is opened and never closed");
  }

  // Text behind a closing quote belongs to the cell, as spreadsheets read it.
  std::string cell_tail() {
    const auto end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

  std::string_view text_;
  const std::string& name_;
  Fault fault_;
  std::size_t at_ = 0, line_ = 1;
};

bool blank(const CsvRow& row) {
  return row.cells.size() == 1 && trim(row.cells[0]).empty();
}

}  // namespace

std::optional<std::size_t> Csv::column(std::string_view title) const {
  const auto found = std::ranges::find(header, title);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

std::size_t Csv::required(std::string_view title, Fault fault) const {
  if (const auto at = column(title)) return *at;
  const bool other_separator =
      header.size() == 1 &&
      header[0].find_first_of(";\t|") != std::string::npos;
  throw Error(
      fault, name + ":1", fmt::format("there is no column '{}'", title),
      other_separator
          ? "columns are separated by commas, not by ';', '|' or tabs"
          : fmt::format("the columns are: {}", fmt::join(header, ", ")));
}

std::string Csv::place(const CsvRow& row) const {
  return fmt::format("{}:{}", name, row.line);
}

Csv parse_csv(std::string_view text, const std::string& name, Fault fault) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.find('\0') != std::string_view::npos)
    throw Error(fault, name, "is a binary file, not a table");
  Csv csv{.name = name, .header = {}, .rows = {}};
  Scanner scanner(text, name, fault);
  while (!scanner.done()) {
    CsvRow row = scanner.row();
    if (blank(row)) continue;
    if (csv.header.empty()) {
      for (std::string& title : row.cells) title = std::string(trim(title));
      csv.header = std::move(row.cells);
      continue;
    }
    if (row.cells.size() != csv.header.size())
      throw Error(fault, csv.place(row),
                  fmt::format("has {} cells where the header has {}",
                              row.cells.size(), csv.header.size()),
                  "a comma inside a cell needs quotes around the cell");
    csv.rows.push_back(std::move(row));
  }
  if (csv.header.empty())
    throw Error(fault, name, "is empty: the first line names the columns");
  return csv;
}

}  // namespace lockstep
