// SPDX-License-Identifier: Apache-2.0
// lockstep advise RECIPE|PROFILE|MODEL: how many devices, which batch size,
// which strategy. One sentence, then the evidence.
#include <cstdio>
#include <memory>

#include "cli/advise_asked.h"
#include "cli/commands.h"
#include "lockstep/advise/target.h"
#include "lockstep/core/error.h"
#include "lockstep/report/advice_table.h"

namespace lockstep::cli {
namespace {

// Without an epoch's size times are given for so many samples.
constexpr double kSamplesWithoutData = 1e6;
constexpr std::size_t kTextRows = 12;

// Every number of devices up to eight, then powers of two.
void add_ranks(Grid& grid) {
  int most = 1 << 20;
  for (const Cluster& c : grid.clusters) most = std::min(most, c.devices());
  grid.ranks.clear();
  for (int n = 1; n <= most; n = n < 8 ? n + 1 : n * 2) grid.ranks.push_back(n);
  if (grid.ranks.back() != most) grid.ranks.push_back(most);
}

Goal goal_of(const AdviseAsked& asked, const Subject& subject,
             const Question& q, double base_batch) {
  const double epoch = q.epoch_samples > 0
                           ? static_cast<double>(q.epoch_samples)
                           : kSamplesWithoutData;
  return {.samples = epoch * (asked.epochs > 0 ? asked.epochs : 1),
          .base_batch = base_batch,
          .base_lr = asked.lr > 0 ? asked.lr
                     : subject.profile || !subject.from_recipe
                         ? 0
                         : subject.optim.lr,
          .noise_scale = asked.noise_scale,
          .price_per_device_hour = asked.price,
          .budget = asked.budget,
          .deadline_s = deadline_s(asked)};
}

// Runs that reached the accuracy say how many samples and at which batches.
Goal with_target(const AdviseAsked& asked, const Subject& subject, Goal goal) {
  goal.evidence = read_target_evidence(asked.from, asked.target);
  goal.evidence_from = asked.from;
  if (goal.evidence->model != subject.name)
    throw Error(
        Fault::config, asked.from,
        "holds runs of " + goal.evidence->model + ", not of " + subject.name);
  goal.base_lr = asked.lr;  // else the evidence's own
  return to_target(goal, goal.base_batch);
}

// The batches to weigh: those named, else the recipe's, with a noise scale
// others around it; for a target those of which the samples are known.
std::vector<std::int64_t> batches_asked(const AdviseAsked& asked,
                                        const Subject& subject,
                                        const Goal& goal,
                                        std::vector<std::int64_t> named) {
  const bool said = !asked.what_if.batch.empty();
  const auto base = static_cast<std::int64_t>(goal.base_batch);
  if (goal.evidence) {
    if (!said && subject.from_recipe && goal.noise_scale <= 0)
      named = {subject.asked.global_batch()};
    else if (!said)
      named.clear();
    return target_batches(goal, named);
  }
  if (said) return named;
  return goal.noise_scale > 0 ? batches_around(base)
                              : std::vector<std::int64_t>{base};
}

int run_advise(const AdviseAsked& asked) {
  check_advise(asked);
  const Subject subject = subject_of(asked.what_if);
  Grid grid = grid_of(asked.what_if, subject);
  // The recipe's global batch is what its settings were tuned for.
  Question base = subject.asked;
  if (!asked.what_if.batch.empty()) base.batch = grid.batches.front();
  const std::int64_t batch = base.global_batch();
  grid.asked.scaling = Scaling::strong;
  Goal goal = goal_of(asked, subject, grid.asked, static_cast<double>(batch));
  if (asked.target > 0) goal = with_target(asked, subject, goal);
  grid.batches = batches_asked(asked, subject, goal, grid.batches);
  if (asked.what_if.ranks.empty()) add_ranks(grid);
  if (asked.what_if.strategy.empty())
    grid.methods = {Method::ddp, Method::sharded};
  const Advice advice = advise(subject, grid, goal);
  if (asked.format != Format::text) {
    print(advice_rows(grid, advice, advice.ranking.size()), asked.format);
    return 0;
  }
  std::printf("%s\n\n", advice.sentence.c_str());
  for (const std::string& line : advice.evidence)
    std::printf("- %s\n", line.c_str());
  std::printf("\n");
  print(advice_rows(grid, advice, kTextRows), asked.format);
  return 0;
}

}  // namespace

std::function<int()> advise(Options& options) {
  auto a = std::make_shared<AdviseAsked>();
  declare(options, *a);
  return [a] { return run_advise(*a); };
}

}  // namespace lockstep::cli
