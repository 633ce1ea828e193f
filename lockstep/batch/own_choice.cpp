// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/own_choice.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lockstep/batch/run_groups.h"
#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

// By the criterion itself: the mean rate, in which a run that never gets to the
// target counts as zero.
const BatchRow* fastest(const BatchComparison& c) {
  const BatchRow* out = nullptr;
  for (const BatchRow& row : c.rows)
    if (!row.information.discarded && row.information.time_s &&
        (!out || row.information.rate > out->information.rate))
      out = &row;
  return out;
}

// The arm that asks for most, of those the one that is there first: times to
// different targets do not compare. None where no arm had so many ranks.
const BatchComparison* hardest(std::span<const BatchComparison> comparisons,
                               std::int64_t ranks) {
  const auto rank_of = [](const BatchComparison& c) {
    const BatchRow* row = fastest(c);
    return std::pair(c.target_nats, row ? row->information.rate : 0);
  };
  const BatchComparison* out = nullptr;
  for (const BatchComparison& c : comparisons)
    if (c.ranks == ranks && (!out || rank_of(c) > rank_of(*out))) out = &c;
  return out;
}

void add_fastest(OwnChoice& out, const BatchComparison& c) {
  const BatchRow* row = fastest(c);
  if (row == nullptr) return;
  out.fixed_batch = row->batch, out.fixed_s = row->information.time_s;
  out.fixed_runs = row->information.num_runs;
  out.fixed_reached = row->information.num_reached;
}

OwnChoice choice_of(const std::vector<const ChoosingRun*>& runs,
                    const BatchComparison* fixed, Crossing crossing) {
  const ChoosingRun& first = *runs.front();
  OwnChoice out{.mode = first.mode,
                .arm = first.run.arm,
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
  std::map<std::tuple<std::string, std::string, double, std::int64_t>,
           std::vector<const ChoosingRun*>>
      groups;
  for (const ChoosingRun& run : runs)
    groups[{run.mode, run.run.arm, run.first_batch, run.run.ranks}].push_back(
        &run);
  std::vector<OwnChoice> out;
  for (const auto& [key, group] : groups)
    out.push_back(choice_of(
        group, hardest(comparisons, group.front()->run.ranks), crossing));
  return out;
}

}  // namespace lockstep
