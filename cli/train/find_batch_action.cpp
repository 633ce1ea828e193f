// SPDX-License-Identifier: Apache-2.0
// Tries batch sizes for `lockstep find-batch` and prints what it found.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/find_batch_asked.h"
#include "cli/train/ranks.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/train/find_batch.h"

namespace lockstep::cli {
namespace {

RunConfig config_of(const FindBatchAsked& asked) {
  RunConfig config =
      with_group(load_config(asked.recipe, with_ranks(asked.sets, asked.ranks)),
                 asked.ranks);
  if (config.comm.kind == CommKind::emulated)
    throw Error(Fault::config, "comm.kind", "trials run on threads or mpi",
                "set comm.kind=threads");
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
  run_group(config, [found, config, options](Group& group) {
    FoundBatch mine = find_batch(config, options, group);
    if (group.rank() == 0) *found = std::move(mine);
  });
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
