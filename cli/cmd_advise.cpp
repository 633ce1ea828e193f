// SPDX-License-Identifier: Apache-2.0
// lockstep advise RECIPE|PROFILE|MODEL: how many devices, which batch size,
// which strategy. One sentence, then the evidence.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/what_if.h"
#include "lockstep/core/error.h"
#include "lockstep/report/advice_table.h"

namespace lockstep::cli {
namespace {

// Without an epoch's size times are given for so many samples.
constexpr double kSamplesWithoutData = 1e6;
constexpr std::size_t kTextRows = 12;

struct Asked {
  WhatIf what_if;
  double noise_scale = 0, lr = 0, epochs = 0, price = 0, budget = 0,
         deadline_s = 0;
  Format format = Format::text;
};

void require(const char* option, double value) {
  if (!std::isfinite(value) || value < 0)
    throw Error(Fault::config, option,
                fmt::format("{} is not a number from 0 on", value));
}

// Every number of devices up to eight, then powers of two.
void add_ranks(Grid& grid) {
  int most = 1 << 20;
  for (const Cluster& c : grid.clusters) most = std::min(most, c.devices());
  grid.ranks.clear();
  for (int n = 1; n <= most; n = n < 8 ? n + 1 : n * 2) grid.ranks.push_back(n);
  if (grid.ranks.back() != most) grid.ranks.push_back(most);
}

// With a noise scale other batches can be weighed: halves and doubles.
void add_batches(Grid& grid, std::int64_t base) {
  grid.batches.clear();
  for (std::int64_t b = std::max<std::int64_t>(1, base / 8); b <= base * 64;
       b *= 2)
    grid.batches.push_back(b);
}

Goal goal_of(const Asked& asked, const Subject& subject, const Question& q,
             double base_batch) {
  require("--noise-scale", asked.noise_scale);
  require("--lr", asked.lr);
  require("--epochs", asked.epochs);
  require("--price", asked.price);
  require("--budget", asked.budget);
  require("--deadline", asked.deadline_s);
  if (asked.budget > 0 && asked.price <= 0)
    throw Error(Fault::config, "--budget", "needs a price",
                "--price is what one device costs an hour");
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
          .deadline_s = asked.deadline_s};
}

int run(const Asked& asked) {
  const Subject subject = subject_of(asked.what_if);
  Grid grid = grid_of(asked.what_if, subject);
  // The recipe's global batch is what its settings were tuned for.
  Question base = subject.asked;
  if (!asked.what_if.batch.empty()) base.batch = grid.batches.front();
  const std::int64_t batch = base.global_batch();
  grid.asked.scaling = Scaling::strong;
  if (asked.what_if.batch.empty()) grid.batches = {batch};
  if (asked.what_if.batch.empty() && asked.noise_scale > 0)
    add_batches(grid, batch);
  if (asked.what_if.ranks.empty()) add_ranks(grid);
  if (asked.what_if.strategy.empty())
    grid.methods = {Method::ddp, Method::sharded};
  const Goal goal =
      goal_of(asked, subject, grid.asked, static_cast<double>(batch));
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
  auto a = std::make_shared<Asked>();
  declare(options, a->what_if);
  options.value("--noise-scale", a->noise_scale,
                "gradient noise scale in samples; without it larger batches "
                "are not weighed");
  options.value("--lr", a->lr, "learning rate tuned at the recipe's batch");
  options.value("--epochs", a->epochs, "passes over the data at that batch");
  options.value("--price", a->price, "what one device costs an hour");
  options.value("--budget", a->budget, "most money, in the price's currency");
  options.value("--deadline", a->deadline_s, "seconds it may take");
  options.format(a->format);
  return [a] { return run(*a); };
}

}  // namespace lockstep::cli
