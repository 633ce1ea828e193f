// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_section.h"

#include <fmt/format.h>

#include <set>

#include "lockstep/analyse/batch_runs.h"
#include "lockstep/core/error.h"
#include "lockstep/report/markdown.h"

namespace lockstep {
namespace {

// Every curve is read once more: beyond so many runs it is asked for apart.
constexpr std::size_t kMostRuns = 1000;

bool has_batches(const Study& study) {
  std::set<std::int64_t> batches;
  for (const StudyPoint& p : study.points)
    if (!p.runs.empty()) batches.insert(p.global_batch);
  return study.paths.size() == 1 && batches.size() > 1;
}

}  // namespace

BatchSection batch_section(const Study& study,
                           const std::optional<DevicesAsked>& more) {
  BatchSection out;
  if (!has_batches(study)) return out;
  const std::string command = "`lockstep batch " + study.paths.front() + "`";
  if (study.runs.size() > kMostRuns) {
    out.pointer = "Which batch learns fastest: " + command + ".";
    return out;
  }
  try {
    out.report = make_batch_report(read_batch_runs(study.paths.front(), 0),
                                   CompareOptions{}, more);
    out.pointer = "More targets and criteria: " + command + ".";
  } catch (const Error& e) {
    const std::string why = e.what();
    out.pointer = fmt::format(
        "Which batch learns fastest is not known here, times alone are: {} "
        "says \"{}\"",
        command, why.substr(0, why.find(';')));
  }
  return out;
}

Json to_json(const BatchSection& section) {
  if (section.pointer.empty()) return nullptr;
  Json out = {{"pointer", section.pointer}, {"answer", Json::array()}};
  if (!section.report) return out;
  const BatchReport& r = *section.report;
  out["answer"] = r.answer, out["context"] = r.context;
  out["rows"] = rows_json(r.batches), out["choices"] = rows_json(r.choices);
  out["own"] = rows_json(r.own);
  out["curve"] = rows_json(r.curve), out["devices"] = rows_json(r.devices);
  return out;
}

std::string to_text(const BatchSection& section, bool markdown) {
  if (section.pointer.empty()) return "";
  std::string out = markdown ? "\n## Which batch\n\n" : "\nWhich batch\n";
  const auto add = [&](const char* title, const Table& all) {
    if (all.rows.empty()) return;
    const Table table = without_unfilled(all);
    out += fmt::format("\n{}\n{}{}", title, markdown ? "\n" : "",
                       markdown ? to_markdown(table) : to_text(table));
  };
  if (section.report) {
    for (const std::string& line : section.report->answer)
      out += "- " + line + "\n";
    for (const std::string& line : section.report->context)
      out += "- " + line + "\n";
    add("What each batch size did", section.report->batches);
    add("Runs that chose their batch, the pilot's time counted",
        section.report->own);
    add("The best batch by goodput on more devices, predicted",
        section.report->devices);
    out += "\n";
  }
  return out + section.pointer + "\n";
}

}  // namespace lockstep
