// SPDX-License-Identifier: Apache-2.0
// Tries batch sizes for `lockstep find-batch` and prints what it found.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/find_batch_asked.h"
#include "lockstep/comm/choose_group.h"
#include "lockstep/comm/mpi_group.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/train/find_batch.h"

namespace lockstep::cli {
namespace {

RunConfig config_of(const FindBatchAsked& asked) {
  std::vector<std::string> sets = asked.sets;
  if (asked.ranks > 0)
    sets.push_back("comm.ranks=" + std::to_string(asked.ranks));
  RunConfig config = load_config(asked.recipe, sets);
  const bool said = asked.ranks > 0 || config.comm.ranks > 1;
  const GroupChoice choice = choose_group(
      config.comm.kind, said ? std::optional(config.comm.ranks) : std::nullopt,
      find_launcher(), config.train.device != "cpu");
  config.comm.kind = choice.kind;
  config.comm.ranks = choice.ranks;
  config.strategy.kind = resolved(config.strategy.kind, choice.ranks);
  // A trial is of one size at a time.
  config.batch.mode = BatchMode::fixed;
  config.batch.candidates.clear(), config.batch.decisions.clear();
  validate(config);
  return config;
}

std::optional<FoundBatch> find(const RunConfig& config,
                               const FindBatchAsked& asked) {
  const auto found = std::make_shared<std::optional<FoundBatch>>();
  const FindOptions options{
      .seconds = asked.seconds,
      .memory_bytes = static_cast<std::int64_t>(asked.memory_gb * 1e9)};
  const auto body = [found, config, options](Group& group) {
    FoundBatch mine = find_batch(config, options, group);
    if (group.rank() == 0) *found = std::move(mine);
  };
  const RankOptions ranks{.deadline_s = config.comm.deadline_s,
                          .threads = static_cast<int>(config.train.threads)};
  if (config.comm.kind == CommKind::threads)
    run_ranks(static_cast<int>(config.comm.ranks), ranks, body);
  else if (config.comm.kind == CommKind::mpi)
    run_mpi_ranks(ranks, body);
  else
    throw Error(Fault::config, "comm.kind", "trials run on threads or mpi",
                "set comm.kind=threads");
  return *found;
}

Cell or_nothing(double x) { return std::isfinite(x) ? Cell(x) : Cell(); }

Table table_of(const FoundBatch& found) {
  Table table{"find-batch",
              {{"per_rank_batch", "per rank"},
               {"global_batch", "global"},
               {"fits"},
               {"step_s", "step", "(ms)", scaled(1e3, 2)},
               {"samples_per_s", "samples", "(1/s)", scaled(1, 1)},
               {"peak_memory_bytes", "memory", "(MB)", scaled(1e-6, 0)},
               {"efficiency", "efficiency", "", scaled(1, 3)},
               {"goodput_per_s", "goodput", "(1/s)", scaled(1, 1)},
               {"note"}}};
  for (const TriedBatch& t : found.tried) {
    const double rate = static_cast<double>(t.global) / t.step_s;
    table.add({t.per_rank, t.global, t.fits, or_nothing(t.step_s),
               or_nothing(rate),
               t.fits ? Cell(static_cast<double>(t.peak_memory_bytes)) : Cell(),
               t.fits ? or_nothing(t.efficiency) : Cell(),
               t.fits ? or_nothing(t.goodput) : Cell(), t.note});
  }
  return table;
}

void say(const FoundBatch& found) {
  fmt::print(stderr,
             "# largest that fits: {} a rank; the search ended by: {}\n",
             found.largest_per_rank, found.ended);
  if (found.best_per_rank == 0) {
    fmt::print(stderr, "# noise scale unknown: no goodput\n");
    return;
  }
  fmt::print(stderr,
             "# best by goodput: {} a rank, at noise scale {:.4g} from the "
             "first {} steps; it grows as training goes on\n"
             "# train with it: --set batch.global=0 --set batch.per_rank={}\n",
             found.best_per_rank, found.noise_scale, found.noise_samples,
             found.best_per_rank);
}

}  // namespace

int run_find_batch(const FindBatchAsked& asked) {
  const RunConfig config = config_of(asked);
  keep_freed_memory();
  const std::optional<FoundBatch> found = find(config, asked);
  // Another process has rank 0.
  if (!found) return 0;
  say(*found);
  print(table_of(*found), asked.format);
  return 0;
}

}  // namespace lockstep::cli
