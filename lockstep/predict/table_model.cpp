// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/core/text.h"

namespace lockstep {

namespace embedded {  // made from table_constants.csv by the build
extern const std::string_view table_constants;
}

namespace {

constexpr double kReference_bytes_per_s = 10e9;
// No curve beats perfect scaling by more than a quarter.
constexpr double kBestTime = 0.8, kSoft = 0.2;

struct Bounded {
  double value = 0, slope = 1;
};

// x itself where it is well above kBestTime, never below.
Bounded at_least_best(double x) {
  const double above = x - kBestTime;
  if (above > kSoft) return {x, 1};
  const double soft = std::exp(above / kSoft - 1);
  return {kBestTime + kSoft * soft, soft};
}

double link_ratio(const TableFacts& f) {
  return std::log(f.moved_bytes / f.step_s / kReference_bytes_per_s);
}

// Messages cannot take longer than all bytes do on a link at its slowest: what
// is lost beyond that is lost otherwise.
Bounded within_link(double exposed, const TableFacts& f) {
  if (f.least_bytes_per_s <= 0) return {exposed, 1};
  const double most =
      std::exp(link_ratio(f)) * kReference_bytes_per_s / f.least_bytes_per_s;
  const double share = most / (exposed + most);
  return {exposed * share, share * share};
}

TableConstants read_constants() {
  const Csv csv = parse_csv(embedded::table_constants, "table_constants.csv",
                            Fault::internal);
  const auto name = csv.required("term", Fault::internal);
  const auto level = csv.required("level", Fault::internal);
  const auto value = csv.required("value", Fault::internal);
  TableConstants out;
  const auto terms = table_terms();
  out.values.resize(terms.size());
  for (const CsvRow& row : csv.rows) {
    const auto number = parse_number<double>(row.cells[value]);
    check(number.has_value(), "a constant is a number");
    if (row.cells[name] == "noise" || row.cells[name] == "spread") {
      (row.cells[name] == "noise" ? out.noise : out.spread) = *number;
      continue;
    }
    const auto term = std::ranges::find_if(
        terms, [&](const TableTerm& t) { return row.cells[name] == t.name; });
    check(term != terms.end(), "a constant belongs to a term");
    out.values[static_cast<std::size_t>(term - terms.begin())]
              [row.cells[level]] = *number;
  }
  return out;
}

}  // namespace

const TableConstants& table_constants() {
  static const TableConstants constants = read_constants();
  return constants;
}

TableStep table_step(const TableFacts& f, const double (&sums)[kTableParts]) {
  if (f.gpus <= 1) return {};
  const double unbounded =
      std::exp(std::clamp(sums[0] + link_ratio(f), -9.0, 6.0));
  const Bounded exposed = within_link(unbounded, f);
  const Bounded time = at_least_best(1 + exposed.value + sums[1] + sums[2]);
  const double scale = time.slope / time.value;
  return {.log_time = std::log(time.value),
          .slope = {unbounded * exposed.slope * scale, scale, scale},
          .exposed = exposed.value};
}

TableForecast forecast(const TableFacts& f, const TableConstants& with) {
  TableForecast out;
  double sums[kTableParts] = {};
  double latency = 0, waits = 0;
  const auto terms = table_terms();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const TableTerm& term = terms[i];
    const std::string level = term.level(f);
    if (level.empty()) continue;
    const auto found = with.values[i].find(level);
    if (found == with.values[i].end()) continue;
    const double add = found->second * term.factor(f);
    sums[static_cast<int>(term.part)] += add;
    if (term.part == TablePart::loss)
      (term.cause == Cause::latency ? latency : waits) += add;
    const std::string_view name = term.name;
    out.known_model |= name == "bytes.model";
    out.known_host |= name == "link.host";
    out.known_software |= name == "bytes.software";
  }
  const TableStep step = table_step(f, sums);
  out.efficiency = std::exp(-step.log_time);
  out.cause = cause_of({.compute_s = sums[2],
                        .communication_s = step.exposed,
                        .latency_s = latency,
                        .imbalance_s = waits},
                       1);
  return out;
}

}  // namespace lockstep
