// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "lockstep/batch/arms.h"
#include "lockstep/batch/information.h"
#include "lockstep/batch/picks.h"
#include "lockstep/batch/run_groups.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// A comparison on its way: what one arm on one number of ranks has of its own.
struct Draft {
  BatchComparison c;
  std::vector<Runs> groups;  // beside c.rows
};

BatchRow row_of(const Runs& runs, const InformationChoice& choice) {
  BatchRow row{.batch = runs.front()->batch,
               .lr = runs.front()->lr,
               .num_runs = runs.size()};
  std::vector<double> steps, accuracy;
  for (const BatchRun* run : runs) {
    row.num_diverged += run->diverged ? 1 : 0;
    accuracy.push_back(best_accuracy(*run));
    if (run->step_s > 0) steps.push_back(run->step_s);
  }
  row.best_accuracy = mean(accuracy);
  row.step_s = steps.empty() ? std::nan("") : mean(steps);
  row.information =
      *std::ranges::find(choice.outcomes, row.batch, &BatchOutcome::batch);
  const BatchOutcome& o = row.information;
  if (row.num_diverged > 0)
    row.note =
        fmt::format("{} of {} runs diverged", row.num_diverged, row.num_runs);
  else if (o.discarded)
    row.note = "ends too far below the best";
  else if (o.num_reached < o.num_runs)
    row.note = fmt::format("{} of {} runs reach the target", o.num_reached,
                           o.num_runs);
  return row;
}

std::vector<TargetChoice> curve_of(std::span<const BatchCandidate> candidates,
                                   CriterionOptions options) {
  std::vector<TargetChoice> out;
  options.target_nats.reset();
  for (const double delta : {0.20, 0.10, 0.05, 0.02}) {
    options.delta = delta;
    try {
      const auto choice = choose_by_information(candidates, options);
      out.push_back(
          {delta, choice.target_nats, choice.outcomes[choice.chosen].batch});
    } catch (const Error&) {
      out.push_back({.delta = delta});  // shown as unknown
    }
  }
  return out;
}

void note_unequal_lengths(Draft& d) {
  std::size_t least = d.groups.front().front()->curve.size(), most = 0;
  for (const Runs& runs : d.groups)
    for (const BatchRun* run : runs) {
      if (run->diverged) continue;
      least = std::min(least, run->curve.size());
      most = std::max(most, run->curve.size());
    }
  if (least < most)
    d.c.notes.push_back(fmt::format(
        "runs were evaluated {} to {} times: each is judged at its own end",
        least, most));
}

Draft draft(const RunsBySize& sizes, const CriterionOptions& by) {
  Draft d;
  d.groups = tune_learning_rate(sizes, by, d.c.notes);
  std::vector<BatchCandidate> candidates;
  for (const Runs& runs : d.groups) candidates.push_back(candidate(runs));
  const InformationChoice choice = choose_by_information(candidates, by);
  const BatchRun& first = *d.groups.front().front();
  d.c.arm = first.arm;
  d.c.ranks = first.ranks;
  d.c.target_nats = choice.target_nats;
  for (const Runs& runs : d.groups) d.c.rows.push_back(row_of(runs, choice));
  d.c.picks.push_back(
      pick_by_information(choice, choice_interval(candidates, by, choice)));
  d.c.curve = curve_of(candidates, by);
  note_unequal_lengths(d);
  return d;
}

using Arm = std::vector<Draft*>;  // on every number of ranks

// The highest whole per cent that each run of every sound batch size reaches.
std::optional<double> common_accuracy(const Arm& arm) {
  double least = 1;
  for (const Draft* d : arm)
    for (std::size_t i = 0; i < d->groups.size(); ++i)
      if (!d->c.rows[i].information.discarded)
        for (const BatchRun* run : d->groups[i])
          least = std::min(least, best_accuracy(*run));
  const double whole = std::floor(100 * least + 1e-9) / 100;
  if (!(whole > 0)) return std::nullopt;
  return whole;
}

void fill_plain(BatchRow& row, const Runs& runs, double target) {
  std::vector<double> times, steps;
  for (const BatchRun* run : runs) {
    const auto at = std::ranges::find_if(
        run->curve, [&](const Evaluation& e) { return e.accuracy >= target; });
    if (at == run->curve.end()) continue;
    times.push_back(at->time_s);
    steps.push_back(at->steps);
  }
  if (times.empty()) return;
  row.plain_time_s = mean(times);
  row.plain_steps = mean(steps);
}

// Steps to a target do not depend on how many ranks share a batch, so the
// bend is fitted over all of them.
void fit_bend(const Arm& arm) {
  std::map<double, std::vector<double>> steps;
  for (const Draft* d : arm)
    for (const BatchRow& row : d->c.rows)
      if (row.plain_steps && *row.plain_steps > 0 && row.num_diverged == 0)
        steps[row.batch].push_back(*row.plain_steps);
  std::vector<StepsToTarget> points;
  for (const auto& [batch, values] : steps)
    points.push_back({batch, mean(values)});
  for (Draft* d : arm) {
    if (points.size() >= 3)
      d->c.critical = fit_critical_batch(points);
    else
      d->c.notes.push_back(
          fmt::format("{} batch sizes reach the accuracy: a "
                      "critical batch size needs three",
                      points.size()));
  }
}

// Targets are reached late, and noise grows as training goes on: the second
// half counts, of all runs that resolve theirs.
std::optional<NoiseAlongRun> late_noise(const Runs& runs) {
  std::vector<double> value, low, high;
  for (const BatchRun* run : runs)
    if (const auto& late = run->late_noise) {
      value.push_back(late->value);
      low.push_back(late->low), high.push_back(late->high);
    }
  if (value.empty()) return std::nullopt;
  return NoiseAlongRun{quantile(value, 0.5), quantile(low, 0.5),
                       quantile(high, 0.5),
                       fmt::format("second half of the {} runs that resolve "
                                   "it, medians of their values and "
                                   "intervals",
                                   value.size())};
}

// Else along the run of the smallest batch that measured it.
std::optional<NoiseAlongRun> noise_along(const Arm& arm) {
  Runs all;
  for (const Draft* d : arm)
    for (const Runs& runs : d->groups)
      all.insert(all.end(), runs.begin(), runs.end());
  if (auto late = late_noise(all)) return late;
  std::erase_if(all, [](const BatchRun* r) { return r->noise_scale.empty(); });
  if (all.empty()) return std::nullopt;
  const std::vector<double>& smallest =
      (*std::ranges::min_element(all, {}, &BatchRun::batch))->noise_scale;
  return NoiseAlongRun{quantile(smallest, 0.5), quantile(smallest, 0.25),
                       quantile(smallest, 0.75),
                       "median and quartiles along the smallest batch's run"};
}

std::vector<StepTime> step_times(const BatchRuns& all,
                                 const BatchComparison& c) {
  const auto given = all.step_times.find(c.ranks);
  if (given != all.step_times.end()) return given->second;
  std::vector<StepTime> out;
  for (const BatchRow& row : c.rows)
    if (row.step_s > 0)
      out.push_back({row.batch / static_cast<double>(c.ranks), row.step_s});
  return out;
}

// Of the best accuracy, over the draw of validation examples; 0: not known.
double accuracy_error(const BatchRuns& all, const BatchComparison& c) {
  if (all.eval_examples == 0) return 0;
  const double best =
      std::ranges::max_element(c.rows, {}, &BatchRow::best_accuracy)
          ->best_accuracy;
  return accuracy_standard_error(best, all.eval_examples);
}

void finish(const BatchRuns& all, const Arm& arm,
            const CompareOptions& options) {
  auto target = options.target_accuracy;
  if (!target) target = common_accuracy(arm);
  double base_batch = arm.front()->c.rows.front().batch;
  for (Draft* d : arm) {
    base_batch = std::min(base_batch, d->c.rows.front().batch);
    d->c.target_accuracy = target;
    for (std::size_t i = 0; target && i < d->groups.size(); ++i)
      fill_plain(d->c.rows[i], d->groups[i], *target);
  }
  fit_bend(arm);
  for (Draft* d : arm) {
    d->c.base_batch = base_batch;
    d->c.noise = noise_along(arm);
    add_picks(d->c, step_times(all, d->c), accuracy_error(all, d->c));
  }
}

}  // namespace

std::vector<BatchComparison> compare_arms(const Arms& arms,
                                          const BatchRuns& runs,
                                          const CompareOptions& options,
                                          std::vector<std::string>& left_out) {
  if (runs.runs.empty())
    throw Error(Fault::data, "runs", "there are none to compare");
  const CriterionOptions by = criterion_options(runs, options);
  std::vector<BatchComparison> out;
  std::optional<TargetNotReached> missed;
  for (const auto& [name, by_ranks] : arms) {
    std::vector<Draft> drafts;
    for (const auto& [ranks, sizes] : by_ranks) {
      try {
        drafts.push_back(draft(sizes, by));
      } catch (const TargetNotReached& none) {
        left_out.push_back(fmt::format("left out, {}: {}",
                                       place_of(name, ranks), none.what()));
        missed = none;
      }
    }
    if (drafts.empty()) continue;
    Arm arm;
    for (Draft& d : drafts) arm.push_back(&d);
    finish(runs, arm, options);
    for (Draft& d : drafts) out.push_back(std::move(d.c));
  }
  if (out.empty() && missed) throw *missed;
  return out;
}

std::vector<BatchComparison> compare_batch_sizes(
    const BatchRuns& runs, const CompareOptions& options) {
  SortedArms arms = sort_arms(runs);
  return compare_arms(arms.kept, runs, options, arms.left_out);
}

}  // namespace lockstep
