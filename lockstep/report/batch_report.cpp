// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/report/batch_tables.h"

namespace lockstep {
namespace {

std::string context_of(const BatchComparison& c) {
  std::string out =
      fmt::format("{} {}{}{}: target {:.4f} nats", c.ranks,
                  c.ranks == 1 ? "device" : "devices",
                  c.arm.empty() ? "" : ", ", c.arm, c.target_nats);
  if (c.target_accuracy)
    out += fmt::format("; plain time to {:.4g} %", 100 * *c.target_accuracy);
  if (c.critical)
    out += fmt::format("; critical batch {:.0f} ({:.0f} to {:.0f}{})",
                       c.critical->batch, c.critical->low, c.critical->high,
                       c.critical->bends ? "" : ", beyond this sweep");
  for (const std::string& note : c.notes) out += "; " + note;
  return out;
}

const Table& table_named(const BatchReport& r, const std::string& name) {
  if (name == "batches") return r.batches;
  if (name == "choices") return r.choices;
  if (name == "curve") return r.curve;
  if (name == "sensitivity") return r.sensitivity;
  throw Error(Fault::config, "--table", "'" + name + "' is not a table here",
              "batches, choices, curve or sensitivity");
}

bool empty(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return std::holds_alternative<std::monostate>(cell) ||
         (text != nullptr && text->empty());
}

// For people: a column nobody filled is left out.
std::string text_of(Table table) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    if (std::ranges::any_of(table.rows,
                            [&](const auto& row) { return !empty(row[i]); }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return to_text(table);
}

std::string all_as_text(const BatchReport& r) {
  std::string out = text_of(r.batches) + "\n" + text_of(r.choices) +
                    "\nthe choice for targets further below the best\n" +
                    text_of(r.curve);
  if (r.sensitivity.rows.empty())
    return out +
           "\nno sensitivity: it needs independent runs that differ in a "
           "setting\n";
  return out + "\nwhat outcomes hang on (share 1: all of it, 0: nothing)\n" +
         text_of(r.sensitivity);
}

}  // namespace

BatchReport make_batch_report(const BatchRuns& runs,
                              const CompareOptions& options) {
  const auto comparisons = compare_batch_sizes(runs, options);
  BatchReport out{
      .batches = batch_rows(comparisons),
      .choices = batch_choices(comparisons),
      .curve = batch_curve(comparisons),
      .sensitivity = batch_sensitivity(sensitivity_of(runs, options)),
      .context = {"information: " + runs.information}};
  out.context.insert(out.context.end(), runs.notes.begin(), runs.notes.end());
  for (const BatchComparison& c : comparisons)
    out.context.push_back(context_of(c));
  return out;
}

std::string to_string(const BatchReport& report, Format format,
                      const std::string& csv_table) {
  const Table& one = table_named(report, csv_table);
  switch (format) {
    case Format::csv:
      return to_csv(one);
    case Format::text:
      return all_as_text(report);
    case Format::json: {
      Json json = to_json(report.batches);
      json["choices"] = to_json(report.choices)["rows"];
      json["curve"] = to_json(report.curve)["rows"];
      json["sensitivity"] = to_json(report.sensitivity)["rows"];
      return json.dump(2) + "\n";
    }
  }
  throw Error(Fault::internal, "format", "not an output format");
}

}  // namespace lockstep
