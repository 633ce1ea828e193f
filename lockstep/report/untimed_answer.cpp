// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/untimed_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <map>
#include <utility>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

// Runs that differ in their seed alone.
struct Same {
  double accuracy = 0;  // summed
  int runs = 0;
  double mean() const { return accuracy / runs; }
};
struct Key {
  std::string model;
  std::int64_t ranks = 1, per_rank = 0;
  std::string arm;
  auto operator<=>(const Key&) const = default;
};

std::map<Key, Same> by_settings(const Study& study) {
  std::map<Key, Same> out;
  for (const RunFacts& run : study.runs) {
    if (run.epochs.empty()) continue;
    const double accuracy = run.epochs.back().val_accuracy;
    if (!std::isfinite(accuracy)) continue;
    Same& same = out[{run.model, run.ranks, run.per_rank, run.arm}];
    same.accuracy += accuracy, ++same.runs;
  }
  return out;
}

}  // namespace

std::string untimed_answer(const Study& study) {
  using Entry = std::pair<const Key, Same>;
  const std::map<Key, Same> all = by_settings(study);
  std::map<std::pair<std::string, std::int64_t>, const Entry*> best;
  for (const Entry& entry : all) {
    const Entry*& known = best[{entry.first.model, entry.first.ranks}];
    if (known == nullptr || entry.second.mean() > known->second.mean())
      known = &entry;
  }
  if (study.runs.empty() && !study.points.empty())
    return fmt::format(
        "Nothing was run: {} of {} points are predicted, and a choice is made "
        "from measured ones only.",
        std::ranges::count(study.points, Origin::predicted,
                           &StudyPoint::origin),
        study.points.size());
  if (best.empty()) return "No run was timed: there is no answer to give yet.";
  std::string out =
      "No run was timed: only what was learnt can be compared. Best on "
      "validation at the end";
  const char* before = ": ";
  for (const auto& [place, entry] : best) {
    const auto& [key, same] = *entry;
    out += fmt::format(
        "{}{} {} x {}{}, {} ({} run{})", before, key.model, key.ranks,
        key.per_rank, key.arm.empty() ? "" : " " + key.arm,
        format_percent(same.mean()), same.runs, same.runs == 1 ? "" : "s");
    before = "; ";
  }
  return out + ".";
}

}  // namespace lockstep
