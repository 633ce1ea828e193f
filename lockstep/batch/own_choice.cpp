// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/own_choice.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lockstep/batch/run_groups.h"
#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

// The arm that asks for most; none where no arm had so many ranks.
const BatchComparison* hardest(std::span<const BatchComparison> comparisons,
                               std::int64_t ranks) {
  const BatchComparison* out = nullptr;
  for (const BatchComparison& c : comparisons)
    if (c.ranks == ranks && (!out || c.target_nats > out->target_nats))
      out = &c;
  return out;
}

void add_fastest(OwnChoice& out, const BatchComparison& c) {
  for (const BatchRow& row : c.rows) {
    const auto& time_s = row.information.time_s;
    if (row.information.discarded || !time_s) continue;
    if (out.fixed_s && *out.fixed_s <= *time_s) continue;
    out.fixed_s = time_s, out.fixed_batch = row.batch;
  }
}

OwnChoice choice_of(const std::vector<const ChoosingRun*>& runs,
                    const BatchComparison* fixed, Crossing crossing) {
  const ChoosingRun& first = *runs.front();
  OwnChoice out{.mode = first.mode,
                .ranks = first.run.ranks,
                .num_runs = runs.size(),
                .first_batch = first.first_batch,
                .lowest_end = first.run.batch,
                .highest_end = first.run.batch};
  if (fixed) out.target_nats = fixed->target_nats, add_fastest(out, *fixed);
  std::vector<double> accuracies, pilots, times;
  for (const ChoosingRun* one : runs) {
    out.lowest_end = std::min(out.lowest_end, one->run.batch);
    out.highest_end = std::max(out.highest_end, one->run.batch);
    accuracies.push_back(best_accuracy(one->run));
    pilots.push_back(one->pilot_s);
    if (!fixed) continue;
    const auto time_s =
        time_to(information_curve(one->run), out.target_nats, crossing);
    if (time_s) times.push_back(one->pilot_s + *time_s);
  }
  out.num_reached = times.size();
  out.best_accuracy = mean(accuracies), out.pilot_s = mean(pilots);
  if (!times.empty()) out.time_s = mean(times);
  return out;
}

}  // namespace

std::vector<OwnChoice> own_choices(std::span<const ChoosingRun> runs,
                                   std::span<const BatchComparison> comparisons,
                                   Crossing crossing) {
  std::map<std::pair<std::string, std::int64_t>,
           std::vector<const ChoosingRun*>>
      groups;
  for (const ChoosingRun& run : runs)
    groups[{run.mode, run.run.ranks}].push_back(&run);
  std::vector<OwnChoice> out;
  for (const auto& [key, group] : groups)
    out.push_back(choice_of(group, hardest(comparisons, key.second), crossing));
  return out;
}

}  // namespace lockstep
