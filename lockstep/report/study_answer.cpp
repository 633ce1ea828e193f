// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/study_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "lockstep/core/units.h"
#include "lockstep/predict/verdict.h"
#include "lockstep/report/study_words.h"

namespace lockstep {
namespace {

using Points = std::vector<std::size_t>;

// An interval whose ends are further apart than this makes nobody sure.
constexpr double kSure = 1.25;

// Points the choice is made from, and whether accuracy took part in it.
struct Candidates {
  Points points;
  bool by_accuracy = false;
};

Candidates candidates_of(const Study& study, const std::string& model) {
  Candidates out;
  double best = std::nan("");
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const StudyPoint& p = study.points[i];
    if (p.model != model || !counts(p)) continue;
    out.points.push_back(i);
    best = std::fmax(best, p.best_val_accuracy);
  }
  if (!std::isfinite(best)) return out;
  const std::size_t before = out.points.size();
  std::erase_if(out.points, [&](std::size_t i) {
    return !(study.points[i].best_val_accuracy >= best - kAccuracyLoss);
  });
  out.by_accuracy = out.points.size() < before;
  return out;
}

const StudyPoint& fastest_of(const Study& study, const Points& points) {
  return study.points[*std::ranges::min_element(
      points, {}, [&](std::size_t i) { return study.points[i].epoch_s; })];
}

// Fewest devices, then the smallest batch, among the nearly fastest.
std::size_t choice_of(const Study& study, const Points& points) {
  const auto epoch = [&](std::size_t i) { return study.points[i].epoch_s; };
  const double fastest = fastest_of(study, points).epoch_s;
  std::optional<std::size_t> best;
  const auto rank = [&](std::size_t i) {
    const StudyPoint& p = study.points[i];
    return std::make_tuple(p.ranks, p.global_batch, p.epoch_s);
  };
  for (const std::size_t i : points)
    if (epoch(i) <= kNearlyAsFastEpoch * fastest &&
        (!best || rank(i) < rank(*best)))
      best = i;
  return *best;
}

std::string point_sentence(const Study& study, const StudyPoint& p) {
  std::set<std::int64_t> ranks, batches;
  for (const StudyPoint& other : study.points)
    if (other.model == p.model && counts(other))
      ranks.insert(other.ranks), batches.insert(other.global_batch);
  std::string with =
      p.strategy == "single" ? "" : fmt::format(" with {}", p.strategy);
  if (!p.arm.empty()) with += fmt::format(" ({})", p.arm);
  if (ranks.size() == 1 && batches.size() == 1)
    return fmt::format(
        "{}: only one configuration was measured, {}{}. An epoch takes {}; "
        "there is nothing to choose from yet.",
        p.model, place(p), with, format_seconds(p.epoch_s));
  return fmt::format(
      "{}: train on {}{}. An epoch takes {}; measured with {} device count{} "
      "and {} batch size{}.",
      p.model, place(p), with, format_seconds(p.epoch_s), ranks.size(),
      ranks.size() == 1 ? "" : "s", batches.size(),
      batches.size() == 1 ? "" : "s");
}

// The best of another number of devices: what the choice is a choice against.
const StudyPoint* rival(const Study& study, const StudyPoint& choice,
                        const Points& points) {
  const StudyPoint* best = nullptr;
  for (const std::size_t i : points) {
    const StudyPoint& p = study.points[i];
    if (p.ranks != choice.ranks && (!best || p.epoch_s < best->epoch_s))
      best = &p;
  }
  return best;
}

std::string against(const StudyPoint& choice, const StudyPoint& other) {
  const double more = other.epoch_s / choice.epoch_s - 1;
  const std::string size =
      std::fabs(more) < 0.005
          ? "the same"
          : fmt::format("{:.0f} % {}", 100 * std::fabs(more),
                        more > 0 ? "slower" : "faster");
  const bool apart = choice.epoch_high_s < other.epoch_low_s ||
                     other.epoch_high_s < choice.epoch_low_s;
  const bool known =
      std::isfinite(choice.epoch_high_s) && std::isfinite(other.epoch_high_s);
  // Two batches are two questions: which ones is said.
  const std::string batches =
      other.global_batch == choice.global_batch
          ? fmt::format("at the same global batch of {}", other.global_batch)
          : fmt::format("at global batch {} instead of {}", other.global_batch,
                        choice.global_batch);
  return fmt::format(" The best epoch with {}, {}, is {}{}.",
                     devices(other.ranks), batches, size,
                     !known  ? "; there is no interval to tell them apart"
                     : apart ? ", and the intervals do not touch"
                             : ", but the intervals overlap");
}

std::string how_sure(const Study& study, const StudyPoint& p,
                     const Points& points) {
  const auto runs = std::ranges::count_if(
      p.runs, [&](std::size_t i) { return study.runs[i].not_timed.empty(); });
  std::string out;
  if (p.step.has_interval())
    out =
        fmt::format("{}95 % interval {}, from {} timed steps in {} run{}.",
                    p.epoch_high_s > kSure * p.epoch_low_s ? "Not sure: " : "",
                    interval_words(p.epoch_low_s, p.epoch_s, p.epoch_high_s),
                    p.step.count, runs, runs == 1 ? "" : "s");
  else
    out = fmt::format(
        "Not sure: {}, so there is no interval.",
        p.step.count > 100
            ? fmt::format("of {} timed steps only the median was kept",
                          p.step.count)
            : fmt::format("too few timed steps ({})", p.step.count));
  if (const StudyPoint* other = rival(study, p, points))
    out += against(p, *other);
  else
    out += " No other number of devices was measured.";
  return out;
}

// The step of a measured series that ends at this point; weak ones first.
struct Found {
  const ScalingSeries* series = nullptr;
  const ScalingStep* step = nullptr;
};

Found step_at(const std::vector<ScalingSeries>& scaling, std::size_t point) {
  for (const ScalingSeries& series : scaling)
    for (const ScalingStep& step : series.steps)
      if (step.point == point && &step != &series.steps.front())
        return {&series, &step};
  return {};
}

// The choice is one device: how the others would have done at its batch.
Found step_from(const std::vector<ScalingSeries>& scaling, std::size_t point) {
  for (const ScalingSeries& series : scaling)
    if (series.steps.front().point == point &&
        series.origin == Origin::measured)
      return {&series, &series.steps.back()};
  return {};
}

// The choice need not be the fastest: who reads the table asks.
std::string nearly_fastest(const Study& study, const StudyPoint& choice,
                           const Points& points) {
  const StudyPoint& fastest = fastest_of(study, points);
  if (!(fastest.epoch_s < choice.epoch_s)) return "";
  return fmt::format(
      " The fastest is {}, {} an epoch; within {:.0f} % of it {} better.",
      place(fastest), format_seconds(fastest.epoch_s),
      100 * (kNearlyAsFastEpoch - 1),
      choice.ranks < fastest.ranks ? "fewer devices are"
                                   : "a smaller batch is");
}

std::string why(const Study& study, const std::vector<ScalingSeries>& scaling,
                std::size_t choice, const Candidates& from) {
  Found found = step_at(scaling, choice);
  if (!found.step) found = step_from(scaling, choice);
  std::string out =
      found.step ? verdict_words(study, *found.series, *found.step)
                 : "Speed-up is not known: no two device counts share a batch.";
  out += nearly_fastest(study, study.points[choice], from.points);
  if (from.by_accuracy)
    out += fmt::format(
        " Configurations whose best accuracy is more than {:.0f} points below "
        "the best were not considered.",
        100 * kAccuracyLoss);
  return out;
}

}  // namespace

std::string verdict_words(const Study& study, const ScalingSeries& series,
                          const ScalingStep& step) {
  const StudyPoint& p = study.points[step.point];
  const StudyPoint& base = study.points[series.steps.front().point];
  const double n = static_cast<double>(step.ranks) /
                   static_cast<double>(series.steps.front().ranks);
  const StepPieces& a = base.pieces;
  const StepPieces& b = p.pieces;
  const double ideal =
      series.kind == ScalingKind::weak ? 1 : 1 / n;  // of the base's work
  const Losses losses{
      .compute_s = b.compute_s() - ideal * a.compute_s(),
      .communication_s = b.exposed_comm_s - a.exposed_comm_s,
      .input_s = (b.data_s + b.copy_s) - ideal * (a.data_s + a.copy_s),
      .imbalance_s = b.wait_s - a.wait_s};
  const auto cause = cause_of(losses, p.step.value);
  return fmt::format(
      "From {} to {} at {} {}: {} times as fast, efficiency {} ({}); what is "
      "lost is mostly {} (exposed communication {}, waiting for data {}, "
      "waiting for others {} of a step).",
      devices(series.steps.front().ranks), devices(step.ranks),
      series.kind == ScalingKind::weak ? "batch a device" : "global batch",
      series.batch, fmt::format("{:.2f}", step.speedup.value),
      format_percent(step.efficiency.value),
      word(verdict_of(step.speedup.value, n)), word(cause),
      format_percent(b.exposed_comm_s / p.step.value),
      format_percent(b.data_s / p.step.value),
      format_percent(b.wait_s / p.step.value));
}

std::vector<StudyAnswer> answers_of(const Study& study,
                                    const std::vector<ScalingSeries>& scaling) {
  std::set<std::string> models;
  for (const StudyPoint& p : study.points) models.insert(p.model);
  std::vector<StudyAnswer> out;
  for (const std::string& model : models) {
    const Candidates from = candidates_of(study, model);
    if (from.points.empty()) continue;
    const std::size_t choice = choice_of(study, from.points);
    const StudyPoint& p = study.points[choice];
    out.push_back({model, choice, point_sentence(study, p),
                   how_sure(study, p, from.points),
                   why(study, scaling, choice, from),
                   what_would_change(study, p)});
  }
  return out;
}

}  // namespace lockstep
