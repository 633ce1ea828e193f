// SPDX-License-Identifier: Apache-2.0
#include "cli/train/train_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/advise/adopt.h"
#include "lockstep/comm/launcher.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/error.h"
#include "lockstep/train/probe.h"
#include "lockstep/train/profile.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kSteps = 12;  // timed for each number of ranks and batch

void require_open(const RunConfig& recipe, const TrainAsked& asked) {
  const auto decided = [](const std::string& where, const std::string& what) {
    throw Error(Fault::config, where, what,
                "--advise chooses the ranks: leave it out, or --advise");
  };
  if (!asked.resume.empty())
    decided("--resume", "goes on with the ranks and the batch it has");
  if (asked.ranks > 0) decided("--ranks", "says how many ranks");
  for (const std::string& set : asked.sets)
    for (const char* name : {"comm.ranks=", "strategy.kind="})
      if (set.starts_with(name)) decided("--set " + set, "is already decided");
  if (find_launcher().kind != LauncherKind::none)
    decided("launcher", "has already started its ranks");
  if (recipe.comm.kind != CommKind::automatic &&
      recipe.comm.kind != CommKind::threads)
    decided("comm.kind", "ranks of one machine are threads");
  if (recipe.batch.mode != BatchMode::fixed)
    decided("batch.mode", "chooses the batch as training goes");
  if (recipe.train.steps > 0 && asked.noise_scale > 0)
    throw Error(Fault::config, "train.steps",
                "mean other numbers of samples at other batches",
                "use train.epochs with --noise-scale");
}

// Ranks with as many cores for each as the recipe asks. One device of another
// kind is one rank: threads would only take turns on it.
std::vector<int> rank_counts(const RunConfig& recipe) {
  if (recipe.train.device != "cpu") return {1};
  const int most =
      core_count() / std::max(1, static_cast<int>(recipe.train.threads));
  std::vector<int> out = {1};
  for (int n = 2; n <= most; n = n < 8 ? n + 1 : n * 2) out.push_back(n);
  return out;
}

// The smallest and largest share of a rank among the batches to weigh.
std::vector<std::int64_t> shares(const RunConfig& recipe, double noise_scale,
                                 int ranks) {
  const std::int64_t parts = ranks * recipe.batch.accumulate;
  std::vector<std::int64_t> out;
  for (const std::int64_t batch : batches_to_weigh(recipe, noise_scale))
    if (batch % parts == 0) out.push_back(batch / parts);
  if (out.empty()) return out;
  const std::int64_t least = out.front(), most = out.back();
  if (least < most) return {least, most};
  return most > 1 ? std::vector<std::int64_t>{most / 2, most}
                  : std::vector<std::int64_t>{1, 2};
}

Profile profile_of(RunConfig recipe, const std::vector<std::int64_t>& batches,
                   int ranks) {
  recipe.batch.per_rank = batches.back(), recipe.batch.global = 0;
  recipe.batch.accumulate = 1;
  return measure_profile_beside(recipe, {.batches = batches, .steps = kSteps},
                                ranks);
}

Cluster cluster_of(const RunConfig& recipe, const DeviceSpec& device,
                   int ranks) {
  Cluster out;
  out.name = "this machine";
  out.device = device;
  out.devices_per_node = ranks;
  if (ranks == 1) return out;
  const RankOptions options{.deadline_s = recipe.comm.deadline_s,
                            .threads = static_cast<int>(recipe.train.threads)};
  run_ranks(ranks, options, [&](Group& group) {
    const Link link = measured_link(probe_link(group, c10::Device("cpu")),
                                    /*one_host=*/true);
    if (group.rank() == 0) out.inside = link;
  });
  return out;
}

}  // namespace

TakenAdvice take_advice(RunConfig recipe, const TrainAsked& asked) {
  if (!asked.advise && asked.noise_scale != 0)
    throw Error(Fault::config, "--noise-scale", "belongs to --advise");
  if (!asked.advise) return {std::move(recipe)};
  if (!std::isfinite(asked.noise_scale) || asked.noise_scale < 0)
    throw Error(Fault::config, "--noise-scale",
                fmt::format("{} is not a number from 0 on", asked.noise_scale));
  require_open(recipe, asked);
  const DeviceSpec device = probe_device(*open_device(recipe.train.device));
  std::vector<MeasuredRanks> measured;
  for (const int ranks : rank_counts(recipe)) {
    const auto batches = shares(recipe, asked.noise_scale, ranks);
    if (batches.empty()) continue;
    fmt::print(stderr, "# measuring {} rank(s)\n", ranks);
    measured.push_back({profile_of(recipe, batches, ranks),
                        cluster_of(recipe, device, ranks)});
  }
  const Advice advice = advise_measured(measured, recipe, asked.noise_scale);
  fmt::print(stderr, "# {}\n", advice.sentence);
  for (const std::string& line : advice.evidence)
    fmt::print(stderr, "# - {}\n", line);
  return {adopt(std::move(recipe), advice.choice), advice_json(advice)};
}

}  // namespace lockstep::cli
