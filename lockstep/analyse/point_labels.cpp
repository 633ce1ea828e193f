// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/point_labels.h"

#include <set>

namespace lockstep {
namespace {

std::string last_part(const std::string& dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string::npos ? dotted : dotted.substr(dot + 1);
}

// "model.kind" is the model; a batch is a batch.
std::string short_name(const std::string& dotted) {
  if (dotted == "batch.global") return "batch";
  if (dotted == "batch.per_rank") return "batch a rank";
  return dotted.ends_with(".kind") ? dotted.substr(0, dotted.size() - 5)
                                   : last_part(dotted);
}

// What is still to run tells nothing apart in a report.
bool has_result(const PointState& point) {
  return !point.runs.empty() || !point.failures.empty() ||
         !point.predicted.is_null();
}

// Settings that have more than one value here (none is one, too), and what to
// call each: two of the same short name keep their section.
std::map<std::string, std::string> varying(const StudyState& state) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  std::size_t points = 0;
  for (const PointState& point : state.points) {
    if (!has_result(point)) continue;
    ++points;
    for (const auto& [name, value] : point.settings.items()) {
      values[name].insert(value.dump());
      ++counts[name];
    }
  }
  std::map<std::string, std::string> out;
  std::map<std::string, int> taken;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1 || counts[name] < points) {
      out[name] = short_name(name);
      ++taken[out[name]];
    }
  for (auto& [name, shown] : out)
    if (taken[shown] > 1) shown = name;
  return out;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::map<std::string, std::string> labels_of(const StudyState& state) {
  const std::map<std::string, std::string> names = varying(state);
  std::map<std::string, std::string> out;
  for (const PointState& point : state.points) {
    std::string label;
    for (const auto& [name, value] : point.settings.items())
      if (const auto found = names.find(name); found != names.end())
        label +=
            (label.empty() ? "" : ", ") + found->second + "=" + shown(value);
    out[point.id] = label.empty() ? point.id : label;
  }
  return out;
}

}  // namespace lockstep
