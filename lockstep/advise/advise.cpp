// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/advise.h"

#include <algorithm>
#include <cmath>

#include "lockstep/advise/price.h"
#include "lockstep/advise/remedy.h"
#include "lockstep/advise/words.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

bool within(const Choice& c, const Goal& goal) {
  if (goal.deadline_s > 0 && c.time_s > goal.deadline_s) return false;
  return !(goal.budget > 0 && c.money > goal.budget);
}

bool cheaper(const Choice& a, const Choice& b) {
  if (a.device_hours != b.device_hours) return a.device_hours < b.device_hours;
  return a.time_s < b.time_s;
}

bool faster(const Choice& a, const Choice& b) {
  if (a.time_s != b.time_s) return a.time_s < b.time_s;
  return a.device_hours < b.device_hours;
}

// With a deadline: the cheapest that keeps it. Else the fastest, or one that
// is nearly as fast for fewer device hours. Where nothing keeps a budget, the
// cheapest is nearest to it; where nothing keeps a deadline, the fastest.
Choice pick(const std::vector<Choice>& ranking, const Goal& goal) {
  std::vector<Choice> open;
  for (const Choice& c : ranking)
    if (within(c, goal)) open.push_back(c);
  const bool kept = !open.empty();
  if (!kept) open = ranking;
  if (kept ? goal.deadline_s > 0 : goal.deadline_s <= 0)
    return *std::ranges::min_element(open, cheaper);
  const double limit =
      std::ranges::min_element(open, faster)->time_s * kNearlyAsFast;
  std::erase_if(open, [&](const Choice& c) { return c.time_s > limit; });
  return *std::ranges::min_element(open, cheaper);
}

bool same_run(const Choice& a, const Choice& b) {
  const Question &p = a.prediction.question, &q = b.prediction.question;
  return a.cluster == b.cluster && p.ranks == q.ranks && p.batch == q.batch &&
         p.method == q.method;
}

// The best of what differs in devices, batch or link.
std::optional<Choice> next_best(const std::vector<Choice>& ranking,
                                const Choice& choice) {
  for (const Choice& c : ranking) {
    const Question &p = c.prediction.question, &q = choice.prediction.question;
    const bool other =
        p.ranks != q.ranks || p.batch != q.batch || c.cluster != choice.cluster;
    if (other && !same_run(c, choice)) {
      Choice out = c;
      out.label = "next_best";
      return out;
    }
  }
  return std::nullopt;
}

// The same batch on the next larger number of devices.
std::optional<Choice> more_devices(const std::vector<Choice>& ranking,
                                   const Choice& choice) {
  std::optional<Choice> out;
  for (const Choice& c : ranking) {
    const Question &p = c.prediction.question, &q = choice.prediction.question;
    if (c.cluster != choice.cluster || p.batch != q.batch || p.ranks <= q.ranks)
      continue;
    if (!out || p.ranks < out->prediction.question.ranks) out = c;
  }
  if (out) out->label = "more_devices";
  return out;
}

}  // namespace

std::vector<Choice> rank(const Subject& subject, const Grid& grid,
                         const Goal& goal) {
  std::vector<Choice> out;
  for (GridPoint& point : predict_grid(subject, grid)) {
    if (!point.prediction.memory.fits()) continue;
    out.push_back(priced({.label = "candidate",
                          .cluster = point.cluster,
                          .prediction = std::move(point.prediction)},
                         goal));
  }
  if (out.empty())
    throw Error(Fault::config, subject.name,
                "no batch of the question fits into the devices' memory",
                "smaller --batch, --strategy sharded or a larger device");
  std::ranges::stable_sort(out, faster);
  return out;
}

Advice settle(std::vector<Choice> ranking, const Goal& goal) {
  std::ranges::stable_sort(ranking, faster);
  Advice out;
  out.ranking = std::move(ranking);
  out.choice = pick(out.ranking, goal);
  out.choice.label = "choice";
  out.goal_met = within(out.choice, goal);
  out.next_best = next_best(out.ranking, out.choice);
  out.more_devices = more_devices(out.ranking, out.choice);
  return out;
}

Advice advise(const Subject& subject, const Grid& grid, const Goal& goal) {
  Advice out = settle(rank(subject, grid, goal), goal);
  out.remedies = remedies_of(subject, grid, goal, out.ranking);
  out.sentence = sentence_of(subject, grid, goal, out);
  out.evidence = evidence_of(grid, goal, out);
  return out;
}

}  // namespace lockstep
