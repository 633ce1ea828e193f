// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/sweep_table.h"

#include <cmath>

#include "lockstep/core/units.h"
#include "lockstep/report/cells.h"

namespace lockstep {
namespace {

// To start a process, open its data and write its folder.
constexpr double kStart_s = 1.5;

Cell json_cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return std::monostate{};
}

Cell field_cell(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? json_cell(object[name])
                                                     : Cell{};
}

std::vector<Column> point_columns() {
  return {{.name = "point"},
          {.name = "model"},
          {.name = "strategy"},
          {.name = "ranks"},
          {.name = "global_batch", .title = "batch"}};
}

std::vector<Cell> point_cells(const std::string& id, const Json& axes) {
  return {id, field_cell(axes, "model"), field_cell(axes, "strategy"),
          field_cell(axes, "ranks"), field_cell(axes, "global_batch")};
}

// What is known of a point in one word.
std::string status_of(const PointState& p) {
  if (!p.failures.empty()) return p.failures.back().why;
  if (!p.predicted.is_null()) return "predicted";
  if (!p.runs.empty() &&
      (!p.settled.is_null() || (p.mode != "timed" && p.mode != "emulated")))
    return p.runs.back().timed ? "measured" : "ran, not timed";
  return p.runs.empty() ? "queued" : "measuring";
}

std::string note_of(const PointState& p) {
  if (!p.failures.empty()) return p.failures.back().message;
  return !p.runs.empty() && p.runs.back().shared ? kRanBesideOthers : p.why;
}

struct PointTimes {
  Cell step_s, half_width, epoch_s;
};

PointTimes point_times(const PointState& p) {
  if (!p.settled.is_null())
    return {field_cell(p.settled, "median_step_s"),
            field_cell(p.settled, "half_width"),
            field_cell(p.settled, "epoch_s")};
  if (!p.predicted.is_null())
    return {field_cell(p.predicted, "step_s"),
            {},
            field_cell(p.predicted, "epoch_s")};
  if (p.runs.empty() || !p.runs.back().timed) return {};
  return {field_cell(p.runs.back().result, "median_step_s"),
          {},
          field_cell(p.runs.back().result, "epoch_s")};
}

}  // namespace

double predicted_seconds(const Point& point, const PointForecast& forecast,
                         int runs) {
  const TrainConfig& t = point.config.train;
  const double work_s = t.steps > 0
                            ? static_cast<double>(t.steps) * forecast.step_s
                            : static_cast<double>(t.epochs) * forecast.epoch_s;
  return runs * (kStart_s + (std::isfinite(work_s) ? work_s : 0));
}

std::vector<DryPoint> points_left(std::span<const Job> jobs,
                                  const StudyConfig& study,
                                  const std::string& hardware) {
  const std::vector<MeasuredPoint> measured = measured_points(jobs);
  std::vector<DryPoint> out;
  for (const Job& job : jobs) {
    if (job.over()) continue;
    DryPoint row{.point = job.point, .runs = job.runs_left(study)};
    row.forecast = what_if(row.point, hardware, measured);
    row.seconds = predicted_seconds(row.point, row.forecast, row.runs);
    out.push_back(std::move(row));
  }
  return out;
}

Table dry_run_table(std::span<const DryPoint> points) {
  Table table{.verb = "sweep", .columns = point_columns()};
  for (Column column : std::vector<Column>{
           {.name = "mode"},
           {.name = "runs", .title = "runs", .unit = "(at least)"},
           {.name = "predicted_step_s",
           .title = "step",
           .unit = "(predicted)",
           .show = with(format_seconds)},
           {.name = "predicted_memory_bytes",
           .title = "memory",
           .unit = "(predicted)",
           .show = with(format_bytes)},
           {.name = "predicted_s",
           .title = "time",
           .unit = "(predicted)",
           .show = with(format_seconds)},
           {.name = "predicted_for", .title = "predicted for"},
           {.name = "why", .title = "why not timed"}})
    table.columns.push_back(std::move(column));
  for (const DryPoint& p : points) {
    std::vector<Cell> row = point_cells(p.point.id, axes_of(p.point));
    const PointForecast& f = p.forecast;
    for (Cell c : std::vector<Cell>{
             std::string(word(p.point.mode)), std::int64_t{p.runs},
             cell(f.step_s), f.memory_known ? cell(f.memory_bytes) : Cell{},
             p.runs > 0 ? cell(p.seconds) : Cell{}, f.from, p.point.why})
      row.push_back(std::move(c));
    table.add(std::move(row));
  }
  return table;
}

Table sweep_table(const StudyState& study) {
  Table table{.verb = "sweep", .columns = point_columns()};
  for (Column column : std::vector<Column>{
           {.name = "status"},
           {.name = "runs"},
           {.name = "step_s", .title = "step", .show = with(format_seconds)},
           {.name = "half_width",
           .title = "+-",
           .unit = "(95 %)",
           .show = with(format_percent)},
           {.name = "epoch_s", .title = "epoch", .show = with(format_seconds)},
           {.name = "final_val_accuracy",
           .title = "validation",
           .show = with(format_percent)},
           {.name = "peak_memory_bytes",
           .title = "memory",
           .show = with(format_bytes)},
           {.name = "note"}})
    table.columns.push_back(std::move(column));
  for (const PointState& p : study.points) {
    std::vector<Cell> row = point_cells(p.id, p.axes);
    const PointTimes t = point_times(p);
    const Json last = p.runs.empty() ? Json() : p.runs.back().result;
    for (Cell c : std::vector<Cell>{
             status_of(p), std::ssize(p.runs), t.step_s, t.half_width,
             t.epoch_s, field_cell(last, "final_val_accuracy"),
             field_cell(last, "peak_memory_bytes"), note_of(p)})
      row.push_back(std::move(c));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace lockstep
