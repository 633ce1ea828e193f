// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/adopt.h"

#include <algorithm>
#include <cmath>

#include "lockstep/advise/price.h"
#include "lockstep/advise/words.h"
#include "lockstep/core/error.h"
#include "lockstep/core/json_fields.h"

namespace lockstep {
namespace {

// How far from the recipe's batch it is worth measuring, either way.
constexpr std::int64_t kBatchReach = 4;

Subject subject_from(const Profile& profile, const RunConfig& recipe) {
  Subject out = subject_of(recipe);
  out.profile = profile;
  out.plan.reset();
  return out;
}

// Weighed on exactly as many ranks as were measured.
Grid grid_for(const MeasuredRanks& measured, const RunConfig& recipe,
              double noise_scale) {
  const int ranks = measured.cluster.devices();
  Grid grid;
  grid.clusters = {measured.cluster};
  grid.methods = {Method::ddp, Method::sharded};
  grid.ranks = {ranks};
  grid.asked = subject_of(recipe).asked;
  grid.asked.scaling = Scaling::strong;
  for (const std::int64_t batch : batches_to_weigh(recipe, noise_scale))
    if (batch % (ranks * recipe.batch.accumulate) == 0)
      grid.batches.push_back(batch);
  return grid;
}

Goal goal_of(const RunConfig& recipe, const Question& asked,
             double noise_scale) {
  const auto batch = static_cast<double>(asked.global_batch());
  const double samples =
      recipe.train.steps > 0
          ? static_cast<double>(recipe.train.steps) * batch
          : static_cast<double>(recipe.train.epochs * asked.epoch_samples);
  return {.samples = samples > 0 ? samples : batch,
          .base_batch = batch,
          .base_lr = recipe.optim.lr,
          .noise_scale = noise_scale};
}

// Some settings go with one strategy only.
bool can_run(const RunConfig& recipe, const Choice& choice) {
  try {
    validate(adopt(recipe, choice));
    return true;
  } catch (const Error&) {
    return false;
  }
}

Json choice_json(const Choice& c) {
  const Question& q = c.prediction.question;
  return Json{{"ranks", q.ranks},
              {"strategy", word(q.method)},
              {"global_batch", q.global_batch()},
              {"lr", c.lr},
              {"step_s", c.prediction.time.step_s},
              {"step_lo90_s", c.prediction.step_s.lo90},
              {"step_hi90_s", c.prediction.step_s.hi90},
              {"time_s", c.time_s},
              {"lo90_s", c.lo90_s},
              {"hi90_s", c.hi90_s}};
}

}  // namespace

std::vector<std::int64_t> batches_to_weigh(const RunConfig& recipe,
                                           double noise_scale) {
  const std::int64_t base = subject_of(recipe).asked.global_batch();
  if (noise_scale <= 0) return {base};
  std::vector<std::int64_t> out;
  for (std::int64_t b = std::max<std::int64_t>(1, base / kBatchReach);
       b <= base * kBatchReach; b *= 2)
    out.push_back(b);
  return out;
}

Advice advise_measured(std::span<const MeasuredRanks> measured,
                       const RunConfig& recipe, double noise_scale) {
  Grid all;
  std::vector<Choice> ranking;
  Goal goal;
  for (const MeasuredRanks& m : measured) {
    const Subject subject = subject_from(m.profile, recipe);
    const Grid grid = grid_for(m, recipe, noise_scale);
    goal = goal_of(recipe, subject.asked, noise_scale);
    all.clusters.push_back(m.cluster);
    if (grid.batches.empty()) continue;
    for (Choice c : rank(subject, grid, goal)) {
      if (!can_run(recipe, c)) continue;
      c.cluster = all.clusters.size() - 1;
      ranking.push_back(std::move(c));
    }
  }
  check(!ranking.empty(), "one rank takes any batch");
  Advice out = settle(std::move(ranking), goal);
  const Subject subject = subject_from(measured.front().profile, recipe);
  out.sentence = sentence_of(subject, all, goal, out);
  out.evidence = evidence_of(all, goal, out);
  return out;
}

RunConfig adopt(RunConfig recipe, const Choice& choice) {
  const Question& q = choice.prediction.question;
  recipe.comm.ranks = q.ranks;
  recipe.strategy.kind = q.ranks == 1                  ? StrategyKind::single
                         : q.method == Method::sharded ? StrategyKind::sharded
                                                       : StrategyKind::ddp;
  // One rank has no messages to make smaller.
  if (q.ranks == 1) recipe.strategy.hook = HookKind::none;
  recipe.batch.per_rank = 0;
  recipe.batch.global = q.global_batch();
  if (choice.lr > 0) recipe.optim.lr = choice.lr;
  return recipe;
}

Json advice_json(const Advice& advice) {
  Json out = {{"sentence", advice.sentence},
              {"from",
               "profile of as many ranks side by side, link between them "
               "probed, before the first step"},
              {"choice", choice_json(advice.choice)}};
  if (advice.next_best) out["next_best"] = choice_json(*advice.next_best);
  return out;
}

}  // namespace lockstep
