// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/untimed_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "lockstep/core/units.h"
#include "lockstep/report/learning_outcomes.h"

namespace lockstep {
namespace {

struct Learnt {
  const StudyPoint* point = nullptr;
  LearningOutcome outcome = {};
};

// The configuration that ended highest, by model and number of devices.
std::map<std::pair<std::string, std::int64_t>, Learnt> best_of(
    const Study& study) {
  std::map<std::pair<std::string, std::int64_t>, Learnt> out;
  for (const StudyPoint& point : study.points) {
    const LearningOutcome outcome = outcome_of(study, point);
    if (outcome.runs == 0) continue;
    Learnt& best = out[{point.model, point.ranks}];
    if (best.point == nullptr ||
        outcome.val_accuracy > best.outcome.val_accuracy)
      best = {&point, outcome};
  }
  return out;
}

std::string learnt_words(const Learnt& l) {
  return fmt::format("{} {} x {}{}, {} ({} run{})", l.point->model,
                     l.point->ranks, l.point->per_rank,
                     l.point->arm.empty() ? "" : " " + l.point->arm,
                     format_percent(l.outcome.val_accuracy), l.outcome.runs,
                     l.outcome.runs == 1 ? "" : "s");
}

}  // namespace

std::string untimed_answer(const Study& study) {
  if (study.runs.empty() && !study.points.empty())
    return fmt::format(
        "Nothing was run: {} of {} points are predicted, and a choice is made "
        "from measured ones only.",
        std::ranges::count(study.points, Origin::predicted,
                           &StudyPoint::origin),
        study.points.size());
  const auto best = best_of(study);
  if (best.empty()) return "No run was timed: there is no answer to give yet.";
  std::string out =
      "No run was timed: only what was learnt can be compared. Best on "
      "validation at the end";
  const char* before = ": ";
  for (const auto& [place, learnt] : best)
    out += std::exchange(before, "; ") + learnt_words(learnt);
  return out + ".";
}

}  // namespace lockstep
