// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/error.h"
#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string label_of(const RunFacts& r) {
  return fmt::format(
      "{} {} {}x{}{}", r.model, r.strategy, r.ranks, r.per_rank,
      r.precision.empty() || r.precision == "fp32" ? "" : " " + r.precision);
}

struct Side {
  bool one_run = false;
  std::map<std::string, std::vector<TimedRun>> points;  // by label
  std::set<std::string> machines;
  std::vector<std::string> notes;
};

Side read_side(const fs::path& path) {
  Side side;
  const std::vector<std::string> paths = {path.string()};
  const Study study = read_runs(paths);
  side.one_run = study.runs.size() == 1;
  for (const RunFacts& run : study.runs) {
    if (!run.not_timed.empty() && side.one_run)
      throw Error(Fault::config, path.string(), run.not_timed,
                  "run it again alone to compare its times");
    if (!run.not_timed.empty()) {
      side.notes.push_back(run.path.string() + " left out: " + run.not_timed);
      continue;
    }
    if (run.step_s.empty() && !side.one_run) {
      side.notes.push_back(run.path.string() + " left out: no timed step");
      continue;
    }
    TimedRun timed = read_timed(run.path);
    side.machines.insert(timed.machine);
    side.points[label_of(run)].push_back(std::move(timed));
  }
  return side;
}

void note_machines(Comparison& out, const Side& a, const Side& b) {
  out.machines_differ = a.machines != b.machines;
  if (out.machines_differ)
    out.notes.push_back(fmt::format(
        "different machines: {} against {}; the difference may be theirs",
        *a.machines.begin(), *b.machines.begin()));
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

Column time_column(const char* name, const char* title) {
  return {.name = name, .title = title, .unit = "(ms)", .show = scaled(1e3, 3)};
}

Column share_column(const char* name, const char* title) {
  return {.name = name,
          .title = title,
          .unit = "(% of a step)",
          .show = [](const Cell& cell) {
            return signed_percent(std::get<double>(cell));
          }};
}

}  // namespace

bool Comparison::any_slower() const {
  return std::ranges::any_of(points, [](const ComparedPoint& p) {
    return std::ranges::any_of(p.metrics, [](const MetricChange& m) {
      return m.change == Change::slower;
    });
  });
}

Comparison compare_folders(const fs::path& a, const fs::path& b,
                           const CompareRunsOptions& options) {
  Side one = read_side(a), two = read_side(b);
  Comparison out{.a = a.string(), .b = b.string(), .points = {}, .notes = {}};
  for (Side* side : {&one, &two})
    out.notes.insert(out.notes.end(), side->notes.begin(), side->notes.end());
  note_machines(out, one, two);
  if (one.one_run && two.one_run) {
    const auto& [name, runs] = *one.points.begin();
    const auto& [other, others] = *two.points.begin();
    if (name != other)
      out.notes.push_back(
          fmt::format("different configurations: {} against {}", name, other));
    out.points.push_back({"", compare_runs(runs, others, options)});
    return out;
  }
  for (const auto& [label, runs] : one.points)
    if (const auto found = two.points.find(label); found != two.points.end())
      out.points.push_back({label, compare_runs(runs, found->second, options)});
  if (out.points.empty())
    throw Error(Fault::config, out.b,
                "has no configuration in common with " + out.a,
                "compare runs of the same model, strategy, ranks and batch");
  return out;
}

Table compare_table(const Comparison& comparison) {
  Table table{.verb = "compare",
              .columns = {{.name = "point"},
                          {.name = "metric"},
                          {.name = "verdict"},
                          time_column("a_s", "A"),
                          time_column("b_s", "B"),
                          share_column("effect", "effect"),
                          share_column("lo99", "from"),
                          share_column("hi99", "to"),
                          {.name = "a_steps"},
                          {.name = "b_steps"},
                          {.name = "a_blocks"},
                          {.name = "b_blocks"},
                          {.name = "why"}}};
  for (const ComparedPoint& p : comparison.points)
    for (const MetricChange& m : p.metrics)
      table.add({p.point, m.metric, std::string(word(m.change)), cell(m.a_s),
                 cell(m.b_s), cell(m.effect), cell(m.low), cell(m.high),
                 static_cast<std::int64_t>(m.a_count),
                 static_cast<std::int64_t>(m.b_count),
                 static_cast<std::int64_t>(m.a_blocks),
                 static_cast<std::int64_t>(m.b_blocks), m.why});
  // Two runs have no point to name.
  if (comparison.points.size() == 1 && comparison.points[0].point.empty()) {
    table.columns.erase(table.columns.begin());
    for (auto& row : table.rows) row.erase(row.begin());
  }
  return table;
}

std::string sentence_of(const Comparison& comparison) {
  std::string out;
  for (const ComparedPoint& p : comparison.points) {
    if (p.metrics.empty()) continue;
    const MetricChange& step = p.metrics.front();
    const std::string interval =
        std::isfinite(step.low)
            ? fmt::format("{} % [{}, {}]", signed_percent(step.effect),
                          signed_percent(step.low), signed_percent(step.high))
            : step.why;
    out += fmt::format("{}{}: a step takes {} in A, {} in B ({})",
                       p.point.empty() ? "" : p.point + ": ", word(step.change),
                       format_seconds(step.a_s), format_seconds(step.b_s),
                       interval);
    if (&p != &comparison.points.back()) out += "\n";
  }
  return out;
}

}  // namespace lockstep
