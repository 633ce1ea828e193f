// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/study_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/analyse/point_labels.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/store/study_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The device that points of this model ran on, when there was one only:
// predictions from measured points are about it.
std::string hardware_of(const Study& study, const std::string& model) {
  std::string found;
  for (const RunFacts& run : study.runs) {
    if (run.model != model || run.hardware == found) continue;
    if (!found.empty()) return "";
    found = run.hardware;
  }
  return found;
}

StudyPoint point_of(const Study& study, const PointState& state) {
  const Json& axes = state.axes;
  StudyPoint point{.model = text_in(axes, "model"),
                   .strategy = text_in(axes, "strategy"),
                   .device = text_in(axes, "device"),
                   .hardware = {},
                   .arm = text_in(axes, "arm"),
                   .route = text_in(state.settings, "strategy.collective")};
  point.hardware = hardware_of(study, point.model);
  // Nothing ran, so nothing of it is known.
  const double none = std::nan("");
  point.pieces = {none, none, none, none, none, none, none, none};
  point.epoch_s = point.epoch_low_s = point.epoch_high_s = none;
  point.samples_per_s = point.imbalance = point.bus_bytes_per_s = none;
  point.peak_bus_bytes_per_s = point.peak_memory_bytes = none;
  point.bytes_a_step = point.best_val_accuracy = none;
  point.ranks = std::max<std::int64_t>(1, whole_in(axes, "ranks"));
  point.global_batch = whole_in(axes, "global_batch");
  point.per_rank = whole_in(axes, "per_rank");
  return point;
}

StudyPoint predicted_point(const Study& study, const PointState& state) {
  StudyPoint point = point_of(study, state);
  const Json& p = state.predicted;
  point.origin = Origin::predicted;
  point.step = single_value(number_in(p, "step_s"));
  point.step.count = 0;
  point.epoch_s = number_in(p, "epoch_s");
  point.epoch_low_s = number_in(p, "lo90_s");
  point.epoch_high_s = number_in(p, "hi90_s");
  point.samples_per_s =
      static_cast<double>(point.global_batch) / point.step.value;
  point.peak_memory_bytes = number_in(p, "memory_bytes");
  point.why = "predicted from " + text_in(p, "from");
  return point;
}

StudyPoint failed_point(const Study& study, const PointState& state) {
  StudyPoint point = point_of(study, state);
  point.origin = Origin::failed;
  point.step = single_value(std::nan(""));
  point.why = state.failures.back().why;
  return point;
}

}  // namespace

void mark_runs(Study& study, const fs::path& folder) {
  if (!is_study(folder)) return;
  const StudyState state = read_study(folder);
  if (study.title.empty()) study.title = state.title, study.kind = state.kind;
  study.command = state.command;
  std::map<fs::path, const PointState*> owner;
  for (const PointState& point : state.points)
    for (const PointRun& run : point.runs)
      owner[(folder / run.run).lexically_normal()] = &point;
  const std::map<std::string, std::string> labels = labels_of(state);
  for (RunFacts& run : study.runs)
    if (const auto found = owner.find(run.path.lexically_normal());
        found != owner.end()) {
      run.mode = found->second->mode;
      run.arm = text_in(found->second->axes, "arm");
      run.label = labels.at(found->second->id);
      if (found->second->runs.size() > 1)
        run.label += " #" + run.path.filename().string();
    }
  for (const std::string& warning : state.warnings)
    if (std::ranges::find(study.notes, warning) == study.notes.end())
      study.notes.push_back(warning);
}

void add_unrun_points(Study& study, const fs::path& folder) {
  if (!is_study(folder)) return;
  const StudyState state = read_study(folder);
  std::map<std::string, int> failures;
  int waiting = 0;
  for (const PointState& point : state.points) {
    if (!point.predicted.is_null())
      study.points.push_back(predicted_point(study, point));
    else if (!point.runs.empty())
      continue;
    else if (!point.failures.empty())
      study.points.push_back(failed_point(study, point)),
          ++failures[point.failures.back().why];
    else
      ++waiting;
  }
  for (const auto& [why, count] : failures)
    study.notes.push_back(fmt::format("{} point(s) failed: {}", count, why));
  if (waiting > 0)
    study.notes.push_back(fmt::format("{} of {} points have not run yet",
                                      waiting, state.points.size()));
}

}  // namespace lockstep
