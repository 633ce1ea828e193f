// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/learning_outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/text.h"
#include "lockstep/core/units.h"
#include "lockstep/report/accuracy_noise.h"

namespace lockstep {
namespace {

enum class Rate { unsaid, fixed, scaled };

Rate rate_in(std::string part) {
  for (const char* name : {"derive.", "optim.", "lr_rule="})
    if (part.starts_with(name)) part.erase(0, std::string_view(name).size());
  if (part == "linear" || part == "square_root") return Rate::scaled;
  return part == "fixed" || part == "none" ? Rate::fixed : Rate::unsaid;
}

// How many settings of the arm speak of a rate like this.
std::size_t count_of(const std::string& arm, Rate rate) {
  std::size_t count = 0;
  for (const std::string& part : split(arm, ','))
    if (const std::string_view setting = trim(part); !setting.empty())
      count += rate_in(std::string(setting)) == rate ? 1 : 0;
  return count;
}

bool evaluated(const RunFacts& run) {
  return !run.epochs.empty() && std::isfinite(run.epochs.back().val_accuracy);
}

void add_run(LearningOutcome& o, const RunFacts& run) {
  const EpochSample& last = run.epochs.back();
  o.val_accuracy += last.val_accuracy;
  o.gap += last.train_accuracy - last.val_accuracy;
  ++o.runs;
  o.classes = run.classes, o.examples = run.validation_samples;
  if (run.ranks == 1 && run.not_timed.empty())
    o.epoch_s += run.epoch_s, ++o.timed;
}

void finish(LearningOutcome& o) {
  o.val_accuracy /= o.runs, o.gap /= o.runs;
  o.epoch_s /= o.timed;
}

}  // namespace

bool rate_scaled(const std::string& arm) {
  return count_of(arm, Rate::scaled) > 0;
}

bool fixed_rate_arm(const std::string& arm) {
  return !rate_scaled(arm) && count_of(arm, Rate::unsaid) == 0;
}

bool scaled_rate_arm(const std::string& arm) {
  return rate_scaled(arm) && count_of(arm, Rate::unsaid) == 0;
}

bool LearningOutcome::learnt() const {
  return above_chance(val_accuracy, classes, examples);
}

Outcomes outcomes_of(const Study& study,
                     const std::function<bool(const RunFacts&)>& wanted) {
  Outcomes out;
  for (const RunFacts& run : study.runs)
    if (evaluated(run) && wanted(run)) add_run(out[run.global_batch], run);
  for (auto& [batch, o] : out) finish(o);
  return out;
}

LearningOutcome outcome_of(const RunFacts& run) {
  LearningOutcome out;
  add_run(out, run);
  finish(out);
  return out;
}

LearningOutcome outcome_of(const Study& study, const StudyPoint& point) {
  LearningOutcome out;
  for (const std::size_t i : point.runs)
    if (evaluated(study.runs[i])) add_run(out, study.runs[i]);
  finish(out);
  return out;
}

std::int64_t most_accurate(const Outcomes& outcomes) {
  return std::ranges::max_element(
             outcomes, {},
             [](const auto& entry) { return entry.second.val_accuracy; })
      ->first;
}

std::string said(const Outcomes& outcomes) {
  std::string text;
  for (const auto& [batch, o] : outcomes) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", batch,
                        format_percent(o.val_accuracy));
    if (o.timed > 0)
      text += fmt::format(" in {} an epoch", format_seconds(o.epoch_s));
  }
  return text;
}

double noise_between(const LearningOutcome& a, const LearningOutcome& b) {
  return difference_noise(a.val_accuracy, b.val_accuracy, a.examples);
}

std::string nothing_learnt(const LearningOutcome& best) {
  const double chance = 1 / static_cast<double>(best.classes);
  return fmt::format(
      "nothing was learnt: {} on {} validation samples, where a guess has {} "
      "and their noise is {:.1f} points",
      format_percent(best.val_accuracy), best.examples, format_percent(chance),
      100 * accuracy_noise(chance, best.examples));
}

std::string within_noise(double noise, const LearningOutcome& of) {
  return fmt::format(
      "differences under {:.1f} points are noise of its {} validation samples",
      100 * noise, of.examples);
}

}  // namespace lockstep
