// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

constexpr double kUsualEfficiency = 0.93;  // where no row of a class is left

// A fixed shuffle: groups go to the parts by a hash of their name.
std::size_t hashed_part(const std::string& key, std::size_t parts) {
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const unsigned char c : key) hash = (hash ^ c) * 1099511628211ULL;
  return (hash >> 16) % parts;
}

double median_or_usual(std::vector<double> values) {
  if (values.empty()) return kUsualEfficiency;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

using LinkAndSize = std::pair<std::string, int>;

HeldBack held_row(const TableRow& row, const TableConstants& constants) {
  const TableFacts facts = facts_of(row);
  const TableForecast f = forecast(facts, constants);
  const double scale = spread_scale(facts, f);
  return {.row = row,
          .measured = *row.efficiency,
          .predicted = f.efficiency,
          .spread = log_spread(facts, f, constants),
          .scale = scale};
}

// One part: fit on `kept`, predict `held`.
void predict_part(std::span<const TableRow> rows,
                  const std::vector<std::size_t>& kept,
                  const std::vector<std::size_t>& held,
                  std::vector<HeldBack>& out) {
  std::vector<MeasuredRow> measured;
  std::map<LinkAndSize, std::vector<double>> classes;
  for (const std::size_t i : kept) {
    const TableRow& row = rows[i];
    measured.push_back({facts_of(row), *row.efficiency});
    classes[{row.link_class, row.gpus}].push_back(*row.efficiency);
  }
  TableConstants constants = fit_table(measured);
  constants.spread = table_constants().spread;
  for (const std::size_t i : held) {
    out[i] = held_row(rows[i], constants);
    out[i].class_median =
        median_or_usual(classes[{rows[i].link_class, rows[i].gpus}]);
  }
}

}  // namespace

bool HeldBack::covered() const {
  return std::abs(std::log(measured / predicted)) <= spread;
}

bool HeldBack::right_verdict(double efficiency) const {
  const double n = row.gpus;
  return verdict_of(efficiency * n, n) == verdict_of(measured * n, n);
}

std::string_view word(Together together) {
  switch (together) {
    case Together::source:
      return "source";
    case Together::repository:
      return "repository";
    case Together::model_and_gpu:
      return "model and GPU";
  }
  return "";
}

std::string together_key(const TableRow& row, Together together) {
  switch (together) {
    case Together::source:
      return row.source;
    case Together::repository:
      return row.source.substr(0, row.source.find('@'));
    case Together::model_and_gpu:
      return row.model + "|" + row.gpu;
  }
  return "";
}

std::vector<HeldBack> hold_back(std::span<const TableRow> rows,
                                Together together, int folds) {
  std::set<std::string> keys;
  for (const TableRow& row : rows) keys.insert(together_key(row, together));
  const std::size_t parts =
      folds > 0 ? static_cast<std::size_t>(folds) : keys.size();
  std::map<std::string, std::size_t> place;
  std::size_t next = 0;
  for (const std::string& key : keys)
    place[key] = folds > 0 ? hashed_part(key, parts) : next++;
  std::vector<HeldBack> out(rows.size());
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<std::size_t> kept, held;
    for (std::size_t i = 0; i < rows.size(); ++i)
      (place[together_key(rows[i], together)] == part ? held : kept)
          .push_back(i);
    if (!held.empty()) predict_part(rows, kept, held, out);
  }
  return out;
}

TableScore score(std::span<const HeldBack> rows, const Guess& guess) {
  TableScore out;
  out.rows = rows.size();
  if (rows.empty()) return out;
  std::vector<double> errors;
  const auto n = static_cast<double>(rows.size());
  for (const HeldBack& r : rows) {
    const double error = guess(r) / r.measured - 1;
    errors.push_back(std::abs(error));
    out.mean_error += std::abs(error) / n;
    out.bias += error / n;
    out.right_verdicts += r.right_verdict(guess(r)) ? 1 / n : 0;
  }
  std::ranges::sort(errors);
  out.p95_error = errors[(errors.size() * 95 - 1) / 100];
  return out;
}

TableScore score(std::span<const HeldBack> rows) {
  TableScore out = score(rows, [](const HeldBack& r) { return r.predicted; });
  const auto n = static_cast<double>(rows.size());
  for (const HeldBack& r : rows) {
    out.coverage += r.covered() ? 1 / n : 0;
    out.mean_width += std::exp(2 * r.spread) / n;
  }
  return out;
}

double calibrated_spread(std::span<const HeldBack> rows) {
  std::vector<double> ratios;
  for (const HeldBack& r : rows)
    ratios.push_back(std::abs(std::log(r.measured / r.predicted)) / r.scale);
  std::ranges::sort(ratios);
  return ratios.empty() ? 1 : ratios[ratios.size() * 9 / 10];
}

std::vector<TableRow> measured_table(const Csv& csv) {
  const TableReader reader(csv);
  std::vector<TableRow> out;
  for (const CsvRow& cells : csv.rows) {
    TableRow row = reader.read(cells);
    if (row.efficiency && row.gpus > 1) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace lockstep
