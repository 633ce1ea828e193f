// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/words.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/units.h"

namespace lockstep {
namespace {

std::string devices_of(const Cluster& c, const Question& q) {
  if (q.ranks == 1) return "one " + c.device.name;
  const bool many = c.nodes_of(q.ranks) > 1;
  const std::string link = c.inside && c.ranks_per_node(q.ranks) > 1
                               ? c.inside->name
                               : std::string();
  const std::string both =
      many ? (link.empty() ? "" : link + " and ") + c.between->name : link;
  return fmt::format("{} x {} over {}", q.ranks, c.device.name, both);
}

std::string batch_of(const Question& q) {
  if (q.ranks == 1 && q.accumulate == 1)
    return fmt::format("batch {}", q.global_batch());
  return fmt::format("global batch {} ({} a device{})", q.global_batch(),
                     q.rank_batch(),
                     q.accumulate > 1 ? fmt::format(", {} passes", q.accumulate)
                                      : std::string());
}

std::string money_of(const Choice& c) {
  return std::isnan(c.money) ? std::string()
                             : fmt::format(", {:.2f} in money", c.money);
}

std::string cost_of(const Choice& c) {
  return fmt::format("{} ({} to {}), {:.3g} device hours{}",
                     format_seconds(c.time_s), format_seconds(c.lo90_s),
                     format_seconds(c.hi90_s), c.device_hours, money_of(c));
}

std::string against(const Choice& c, const Choice& choice) {
  const double ratio = c.time_s / choice.time_s;
  return ratio >= 1 ? fmt::format("{:.1f} % slower", 100 * (ratio - 1))
                    : fmt::format("{:.1f} % faster", 100 * (1 - ratio));
}

std::string missed(const Goal& goal, const Advice& advice) {
  if (advice.goal_met) return "";
  std::string what;
  if (goal.deadline_s > 0)
    what = fmt::format("ends within {}", format_seconds(goal.deadline_s));
  if (goal.budget > 0)
    what += fmt::format("{}costs {:.2f} or less", what.empty() ? "" : " and ",
                        goal.budget);
  return fmt::format("No configuration {}; the nearest: ", what);
}

// What the time is for.
std::string task(const Goal& goal, const Choice& c) {
  const auto samples = format_count(
      static_cast<std::int64_t>(std::llround(goal.samples / c.progress)));
  if (!goal.evidence) return samples + " samples take";
  return fmt::format("accuracy {:.4g} after {} samples takes",
                     goal.evidence->accuracy, samples);
}

std::string measured_batches(const TargetEvidence& evidence) {
  std::string out;
  for (const TargetReached& r : evidence.batches)
    out += fmt::format(
        "{}batch {:.0f} (learning rate {:.4g}) after {} samples, {} of {} "
        "run{}",
        out.empty() ? "" : "; ", r.batch, r.lr,
        format_count(static_cast<std::int64_t>(r.samples)), r.reached, r.runs,
        r.runs > 1 ? "s" : "");
  return out;
}

// Where the number of samples comes from, and how sure it is.
std::string target(const Goal& goal) {
  const TargetEvidence& e = *goal.evidence;
  const std::string spread =
      e.log_half_90 > 0
          ? fmt::format(
                "another run's samples: 90 % within a factor {:.2f}, "
                "which is in the intervals",
                std::exp(e.log_half_90))
          : "nothing was repeated: what another seed would take is unknown and "
            "not in the intervals";
  return fmt::format(
      "accuracy {:.4g}, measured in {}: {}; {}; with the settings and "
      "schedule of those runs",
      e.accuracy, goal.evidence_from, measured_batches(e), spread);
}

// Whether the far end of the interval still keeps what was asked.
std::string margin(const Goal& goal, const Choice& c) {
  std::string out;
  if (goal.deadline_s > 0)
    out = fmt::format("deadline {}: {} of it used, {} at the interval's end",
                      format_seconds(goal.deadline_s),
                      format_percent(c.time_s / goal.deadline_s),
                      format_percent(c.hi90_s / goal.deadline_s));
  if (goal.budget > 0)
    out += fmt::format(
        "{}budget {:.2f}: {} of it used, {} at the interval's end",
        out.empty() ? "" : "; ", goal.budget,
        format_percent(c.money / goal.budget),
        format_percent(c.money * c.hi90_s / c.time_s / goal.budget));
  return out;
}

std::string limits(const Prediction& p) {
  const StepParts& t = p.time;
  return fmt::format(
      "{} with {} ranks (speed-up {:.2f}, 90 %: {:.2f} to {:.2f}), limited by "
      "{}: a step of {} is {} compute, {} exposed communication, {} waiting",
      word(p.verdict), p.question.ranks, p.speedup, p.speedup_90.lo90,
      p.speedup_90.hi90, word(p.cause), format_seconds(t.step_s),
      format_seconds(t.compute_s), format_seconds(t.exposed_comm_s),
      format_seconds(t.idle_s + t.input_wait_s));
}

std::string statistics(const Goal& goal, const Choice& c) {
  if (goal.noise_scale <= 0 && goal.evidence)
    return "noise scale unknown: only batches of that evidence were weighed; "
           "measure it (batch.noise_every) or give --noise-scale";
  if (goal.noise_scale <= 0)
    return "noise scale unknown: accuracy at batches above the recipe's is "
           "unknown, so none was tried beyond what was asked; measure it or "
           "give --noise-scale";
  const bool fitted = goal.evidence && goal.evidence->noise_fitted &&
                      goal.noise_scale == goal.evidence->noise_scale;
  return fmt::format(
      "noise scale {:.4g}{}: a sample of this batch brings {:.1f} % of one at "
      "batch {:.0f}",
      goal.noise_scale, fitted ? ", by how the runs' steps fall" : "",
      100 * c.progress, goal.base_batch);
}

std::string memory(const Prediction& p) {
  if (!p.memory.known) return "memory: unknown";
  return fmt::format("memory: {} of {}, largest batch of a device {}",
                     format_bytes(p.memory.need_bytes),
                     format_bytes(p.memory.have_bytes), p.memory.largest_batch);
}

}  // namespace

std::string sentence_of(const Subject& subject, const Grid& grid,
                        const Goal& goal, const Advice& advice) {
  const Choice& c = advice.choice;
  const Question& q = c.prediction.question;
  const std::string lr =
      c.lr > 0 ? fmt::format(", learning rate {:.4g}", c.lr) : std::string();
  return fmt::format("{}Train {} on {} with {}, {}{}: {} {}, predicted.",
                     missed(goal, advice), subject.name,
                     devices_of(grid.clusters[c.cluster], q), word(q.method),
                     batch_of(q), lr, task(goal, c), cost_of(c));
}

std::vector<std::string> evidence_of(const Grid& grid, const Goal& goal,
                                     const Advice& advice) {
  std::vector<std::string> out;
  const Choice& choice = advice.choice;
  if (choice.prediction.question.ranks > 1)
    out.push_back(limits(choice.prediction));
  if (advice.next_best) {
    const Choice& c = *advice.next_best;
    out.push_back(fmt::format(
        "next best: {} with {}, {}: {}, {}",
        devices_of(grid.clusters[c.cluster], c.prediction.question),
        word(c.prediction.question.method), batch_of(c.prediction.question),
        cost_of(c), against(c, choice)));
  }
  if (advice.more_devices) {
    const Choice& c = *advice.more_devices;
    out.push_back(fmt::format("with {} devices: {}; {}",
                              c.prediction.question.ranks, against(c, choice),
                              limits(c.prediction)));
  }
  for (const Choice& c : advice.remedies)
    out.push_back(fmt::format("remedy on {} devices, {}: {}, {}",
                              c.prediction.question.ranks, c.label,
                              format_seconds(c.time_s), against(c, choice)));
  out.push_back(memory(choice.prediction));
  if (goal.deadline_s > 0 || goal.budget > 0)
    out.push_back(margin(goal, choice));
  if (goal.evidence) out.push_back(target(goal));
  out.push_back(statistics(goal, choice));
  return out;
}

}  // namespace lockstep
