// SPDX-License-Identifier: Apache-2.0
// Trains what `lockstep train` asks for.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/train/ranks.h"
#include "cli/train/train_advice.h"
#include "cli/train_asked.h"
#include "lockstep/comm/launcher.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/report/study_tables.h"
#include "lockstep/run.h"
#include "lockstep/store/run_folder.h"

namespace lockstep::cli {
namespace {

// The only mutable thing a signal handler may touch.
std::atomic<int> stop_signal = 0;

void on_signal(int number) {
  // A second Ctrl-C means now.
  if (stop_signal.exchange(number) != 0) std::_Exit(128 + number);
}

// What a run may be told anew when it goes on.
constexpr std::array kMayChange = {"comm.ranks", "train.device",
                                   "train.epochs"};

// How ranks are started is not part of what is trained: it is found anew. On
// another number of ranks the global batch stays.
void prepare_to_go_on(RunConfig& config, bool ranks_asked,
                      std::int64_t ranks_before) {
  CommConfig& comm = config.comm;
  if (comm.kind != CommKind::emulated) comm.kind = CommKind::automatic;
  const Launcher launcher = find_launcher();
  if (launcher.kind != LauncherKind::none && !ranks_asked)
    comm.ranks = launcher.size;
  if (comm.ranks == ranks_before) return;
  if (config.batch.per_rank > 0) {
    config.batch.global =
        config.batch.per_rank * ranks_before * config.batch.accumulate;
    config.batch.per_rank = 0;
  }
  if (config.strategy.kind == StrategyKind::single)
    config.strategy.kind = StrategyKind::automatic;
}

RunConfig config_of_resume(const TrainAsked& asked) {
  const RunFolder folder = RunFolder::open(asked.resume);
  const std::vector<std::string> sets = with_ranks(asked.sets, asked.ranks);
  if (folder.done() && sets.empty())
    throw Error(Fault::store, asked.resume, "this run is done",
                "raise train.epochs with --set to train longer");
  for (const std::string& set : sets) {
    const std::string name = set.substr(0, set.find('='));
    if (std::ranges::find(kMayChange, name) == kMayChange.end())
      throw Error(Fault::config, name,
                  "cannot change when a run goes on from its checkpoint",
                  fmt::format("{} may", fmt::join(kMayChange, ", ")));
  }
  RunConfig config = folder.config();
  const std::int64_t ranks_before = config.comm.ranks;
  apply_sets(fields_of(config), sets);
  prepare_to_go_on(config, asked.ranks > 0, ranks_before);
  validate(config);
  return config;
}

std::string command_of(const TrainAsked& asked) {
  std::string out = asked.resume.empty()
                        ? "lockstep train " + asked.recipe
                        : "lockstep train --resume " + asked.resume;
  for (const std::string& set : with_ranks(asked.sets, asked.ranks))
    out += " --set " + set;
  if (asked.advise) out += " --advise";
  if (asked.noise_scale > 0)
    out += fmt::format(" --noise-scale {}", asked.noise_scale);
  return out;
}

// Out of memory is an answer, not a crash: it does not fit.
RunRecord run_one_rank(const RunConfig& config, const RunOptions& options,
                       Group& group) {
  try {
    return run(config, options, group);
  } catch (const c10::OutOfMemoryError& e) {
    throw Error(Fault::device, config.train.device,
                "out of memory: the run does not fit",
                "lower batch.per_rank and raise batch.accumulate, or use "
                "train.precision=bf16");
  }
}

// What this process knows of the run when it is over.
struct Outcome {
  RunRecord record;
  bool rank_0 = false;  // is among this process's ranks
};

Outcome run_all_ranks(const RunConfig& config, const RunOptions& options) {
  // A rank that was left behind may still write here: it lives on with it.
  const auto outcome = std::make_shared<Outcome>();
  run_group(config, [outcome, config, options](Group& group) {
    RunRecord mine = run_one_rank(config, options, group);
    if (config.comm.kind == CommKind::threads && group.rank() != 0) return;
    *outcome = {std::move(mine), group.rank() == 0};
  });
  return *outcome;
}

// A run that goes on was run by the same advice as before.
Json advice_before(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "record.json";
  return std::filesystem::exists(file) ? read_record(file).advice
                                       : Json::object();
}

}  // namespace

int run_train(const TrainAsked& asked) {
  if (asked.recipe.empty() == asked.resume.empty())
    throw Error(Fault::config, "train", "needs a RECIPE or --resume DIR",
                "try: lockstep train recipes/linear.toml");
  const bool resume = !asked.resume.empty();
  keep_freed_memory();
  const TakenAdvice taken = take_advice(
      resume ? config_of_resume(asked)
             : load_config(asked.recipe, with_ranks(asked.sets, asked.ranks)),
      asked);
  const RunConfig config = with_group(taken.config, asked.ranks);
  const std::filesystem::path folder =
      resume              ? std::filesystem::path(asked.resume)
      : asked.out.empty() ? default_run_path(config)
                          : std::filesystem::path(asked.out);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const Outcome outcome =
      run_all_ranks(config, {folder, resume, command_of(asked), stop_signal,
                             resume ? advice_before(folder) : taken.record});
  if (outcome.rank_0) {
    const std::vector<std::string> paths = {folder.string()};
    print(runs_table(read_runs(paths),
                     asked.format == Format::text ? Width::screen : Width::all),
          asked.format);
  }
  if (outcome.record.status == "done") return 0;
  if (outcome.rank_0)
    fmt::print(stderr,
               "interrupted after a checkpoint; go on with: lockstep train "
               "--resume {}\n",
               folder.string());
  // The signal may have reached another rank only.
  return 128 + (stop_signal == 0 ? SIGTERM : stop_signal.load());
}

}  // namespace lockstep::cli
