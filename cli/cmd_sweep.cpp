// SPDX-License-Identifier: Apache-2.0
// lockstep sweep RECIPE, lockstep sweep --resume DIR: a whole study.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/torch_version.h"
#include "lockstep/core/file.h"
#include "lockstep/core/units.h"
#include "lockstep/report/sweep_table.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/sweep/machine.h"
#include "lockstep/sweep/sweep.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

struct SweepAsked {
  std::string recipe, out, resume, hardware;
  bool dry_run = false, predict_missing = false;
  double max_minutes = 0;
  std::int64_t jobs = 1;
  Format format = Format::text;
};

// The only mutable thing a signal handler may touch.
std::atomic<int> sweep_signal = 0;

void on_sweep_signal(int number) { sweep_signal = number; }

// A new study, or what is left of one: as it would go on here and now.
int dry_run(const SweepAsked& asked) {
  const fs::path recipe = asked.resume.empty()
                              ? fs::path(asked.recipe)
                              : fs::path(asked.resume) / "study.toml";
  const StudyRecipe study = load_study(recipe);
  const std::vector<Job> jobs = jobs_here(
      study, asked.resume.empty() ? StudyState{} : read_study(asked.resume),
      asked.resume, room_here(), asked.predict_missing);
  const std::vector<DryPoint> rows = points_left(
      jobs, study.study,
      asked.hardware.empty() ? study.study.hardware : asked.hardware);
  double total_s = 0;
  for (const DryPoint& row : rows) total_s += row.seconds;
  const auto on_gpus = std::ranges::count_if(rows, needs_gpu, &DryPoint::point);
  print(dry_run_table(rows), asked.format), std::fflush(stdout);
  const std::string left =
      asked.resume.empty() ? "" : fmt::format(" left of {}", jobs.size());
  fmt::print(stderr, "{} points{}, about {}{} (predicted); nothing was run\n",
             rows.size(), left, format_seconds(total_s),
             asked.jobs > 1 ? " one after the other" : "");
  if (on_gpus > 0 && room_here().gpus == 0)
    fmt::print(stderr, "{} of them need a GPU, there is none here\n", on_gpus);
  return 0;
}

StudyFolder study_folder_of(const SweepAsked& asked) {
  if (!asked.resume.empty()) return StudyFolder::open(asked.resume);
  // Every mistake in the recipe shows before a folder is made.
  points_of(load_study(asked.recipe));
  return StudyFolder::create(
      asked.out.empty()
          ? default_run_path(fs::path(asked.recipe).stem().string())
          : fs::path(asked.out),
      read_file(asked.recipe, Fault::config));
}

std::string sweep_command(const SweepAsked& asked) {
  std::string out = "lockstep sweep";
  if (!asked.recipe.empty()) out += " " + asked.recipe;
  if (!asked.resume.empty()) out += " --resume " + asked.resume;
  if (!asked.out.empty()) out += " --out " + asked.out;
  if (asked.predict_missing) out += " --predict-missing";
  if (!asked.hardware.empty()) out += " --hardware " + asked.hardware;
  if (asked.jobs > 1) out += fmt::format(" --jobs {}", asked.jobs);
  return out;
}

int say_end(const SweepAsked& asked, const fs::path& path, SweepEnd end) {
  print(sweep_table(read_study(path)), asked.format);
  if (end == SweepEnd::finished) {
    std::fflush(stdout);
    fmt::print(stderr, "study: {}\n", path.string());
    return 0;
  }
  fmt::print(stderr, "stopped; go on with: lockstep sweep --resume {}\n",
             path.string());
  return end == SweepEnd::interrupted ? 128 + sweep_signal : 0;
}

int run_sweep(const SweepAsked& asked) {
  if (asked.recipe.empty() == asked.resume.empty())
    throw Error(Fault::config, "sweep", "needs a RECIPE or --resume DIR",
                "try: lockstep sweep recipes/study_stevens_short.toml");
  if (asked.max_minutes < 0)
    throw Error(Fault::config, "--max-minutes", "is below zero");
  if (asked.jobs < 1 || asked.jobs > kMostSweepJobs)
    throw Error(Fault::config, "--jobs",
                fmt::format("is {}: 1 to {} runs at a time", asked.jobs,
                            kMostSweepJobs));
  if (asked.dry_run) return dry_run(asked);
  if (loaded_torch_version().empty())
    throw Error(Fault::config, "sweep",
                "this is a study build, without the training half",
                "--dry-run works here; build with -DLOCKSTEP_TRAIN=ON to run");
  StudyFolder folder = study_folder_of(asked);
  std::signal(SIGINT, on_sweep_signal);
  std::signal(SIGTERM, on_sweep_signal);
  const SweepEnd end =
      sweep(folder, {.program = fs::read_symlink("/proc/self/exe"),
                     .command = sweep_command(asked),
                     .hardware = asked.hardware,
                     .predict_missing = asked.predict_missing,
                     .max_minutes = asked.max_minutes,
                     .jobs = static_cast<int>(asked.jobs),
                     .stop = &sweep_signal});
  return say_end(asked, folder.path(), end);
}

}  // namespace

std::function<int()> sweep(Options& options) {
  auto asked = std::make_shared<SweepAsked>();
  options.value("recipe", asked->recipe, "TOML file with a [grid]");
  options.value("--out", asked->out,
                "study folder, new or empty; default: runs/<recipe>_<date>");
  options.value("--resume", asked->resume, "go on with this study folder");
  options.flag("--dry-run", asked->dry_run,
               "list the points, with --resume those left, with predicted "
               "time and memory; run nothing");
  options.value("--max-minutes", asked->max_minutes,
                "stop at the end of a run after so many minutes");
  options.value("--jobs", asked->jobs,
                "trainings that run at a time; beside others none is timed");
  options.flag("--predict-missing", asked->predict_missing,
               "predict the points this machine cannot run");
  options.value("--hardware", asked->hardware,
                "preset or file for predictions where nothing was measured");
  options.format(asked->format);
  return [asked] { return run_sweep(*asked); };
}

}  // namespace lockstep::cli
