// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/study_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

// A piece of a step that is worth a word.
constexpr double kWorthAWord = 0.03;

std::string cheaper(const StudyPoint& p, double piece_s, const char* what) {
  if (!(piece_s > kWorthAWord * p.step.value)) return "";
  return fmt::format(
      " {} takes {} of a step: without it an epoch could take no less than {}.",
      what, format_percent(piece_s / p.step.value),
      format_seconds(p.epoch_s * (1 - piece_s / p.step.value)));
}

// The fastest of the predicted points on more devices than were measured.
const StudyPoint* fastest_beyond(
    const Study& study, const StudyPoint& p, std::int64_t most_ranks,
    const std::function<bool(const StudyPoint&)>& like) {
  const StudyPoint* best = nullptr;
  for (const StudyPoint& other : study.points)
    if (other.model == p.model && other.origin == Origin::predicted &&
        other.ranks > most_ranks && other.epoch_s > 0 && like(other) &&
        (!best || other.epoch_s < best->epoch_s))
      best = &other;
  return best;
}

// Like with like: the same global batch where it was predicted, else the same
// batch on each device, and then the word that the global batch grew.
std::string predicted_beyond(const Study& study, const StudyPoint& p,
                             std::int64_t most_ranks) {
  const auto say = [&](const StudyPoint& other, const std::string& compared) {
    return fmt::format(
        " Predicted, not measured: {} with {} would take {} an epoch, {:.2f} "
        "times as fast{}.",
        place(other), other.strategy, format_seconds(other.epoch_s),
        p.epoch_s / other.epoch_s, compared);
  };
  if (const StudyPoint* same =
          fastest_beyond(study, p, most_ranks, [&](const StudyPoint& other) {
            return other.global_batch == p.global_batch;
          }))
    return say(*same, " at the same global batch");
  if (const StudyPoint* same =
          fastest_beyond(study, p, most_ranks, [&](const StudyPoint& other) {
            return other.per_rank == p.per_rank;
          }))
    return say(*same, fmt::format(
                          " at the same batch a device; its global batch is "
                          "{:.3g} times as large, which learns less a sample",
                          double(same->global_batch) / double(p.global_batch)));
  return "";
}

}  // namespace

bool counts(const StudyPoint& p) {
  return p.drawn() && p.epoch_s > 0 && p.origin == Origin::measured;
}

std::string devices(std::int64_t n) {
  return n == 1 ? "1 device" : fmt::format("{} devices", n);
}

std::string place(const StudyPoint& p) {
  if (p.ranks == 1) return fmt::format("1 device, batch {}", p.global_batch);
  const std::int64_t share = p.global_batch / p.ranks;
  if (p.global_batch % p.ranks != 0)
    return fmt::format("{} devices, batch {} in all ({} or {} on each)",
                       p.ranks, p.global_batch, share, share + 1);
  return fmt::format("{} devices, batch {} on each ({} in all)", p.ranks, share,
                     p.global_batch);
}

std::string interval_words(double low_s, double value_s, double high_s) {
  const std::string low = format_seconds(low_s), high = format_seconds(high_s);
  if (low != high) return low + " to " + high;
  const double off = std::max(high_s - value_s, value_s - low_s) / value_s;
  return fmt::format("within {:.1g} % of it", 100 * std::max(off, 1e-4));
}

std::string what_would_change(const Study& study, const StudyPoint& p) {
  std::string out =
      cheaper(p, p.pieces.exposed_comm_s, "Exposed communication") +
      cheaper(p, p.pieces.data_s, "Waiting for data") +
      cheaper(p, p.pieces.wait_s, "Waiting for the slowest rank");
  std::int64_t most_ranks = 1, largest = 0;
  for (const StudyPoint& other : study.points) {
    if (other.model != p.model || !counts(other)) continue;
    most_ranks = std::max(most_ranks, other.ranks);
    largest = std::max(largest, other.per_rank);
  }
  if (p.per_rank == largest)
    out += fmt::format(
        " {} on a device is the largest batch measured: a larger one may be "
        "faster still.",
        largest);
  out += fmt::format(" Nothing beyond {} was measured.", devices(most_ranks));
  out += predicted_beyond(study, p, most_ranks);
  out += std::isfinite(p.best_val_accuracy)
             ? " A goal other than epoch time and accuracy, such as money, may "
               "change it too (`lockstep advise`)."
             : " No accuracy was measured: what this batch costs in accuracy "
               "is not known (`lockstep batch`).";
  return out.substr(1);
}

}  // namespace lockstep
