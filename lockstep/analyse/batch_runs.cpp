// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/batch_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "lockstep/analyse/batch_arms.h"
#include "lockstep/analyse/run_facts.h"
#include "lockstep/analyse/sibling_times.h"
#include "lockstep/analyse/untimed.h"
#include "lockstep/batch/information.h"
#include "lockstep/batch/special.h"
#include "lockstep/core/csv.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/core/text.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Everything read of one run before it is known what all of them have.
struct Stored {
  std::string name;
  RunConfig config;
  RunRecord record;
  std::vector<EpochSample> epochs;
  std::vector<StepSample> steps;
  std::vector<double> noise_scale;  // along the run, where it was measured
  bool done = false, diverged = false;
  EpochTimes times = {};
  std::string not_timed = {};  // why, or empty
};

// Where its runs are.
fs::path root_of(const fs::path& study) {
  return fs::is_directory(study / "runs") ? study / "runs" : study;
}

std::vector<fs::path> run_folders(const fs::path& study) {
  if (!fs::is_directory(study))
    throw Error(Fault::config, study.string(), "is not a folder");
  std::vector<fs::path> out;
  // A study's are runs/<point>/<repeat>, a plain folder's one level up.
  for (auto at = fs::recursive_directory_iterator(root_of(study));
       at != fs::recursive_directory_iterator(); ++at) {
    const bool is_run = fs::is_regular_file(at->path() / "epochs.csv");
    if (is_run) out.push_back(at->path());
    if (is_run || at.depth() > 0) at.disable_recursion_pending();
  }
  std::ranges::sort(out);
  if (out.empty())
    throw Error(Fault::config, study.string(), "holds no run with epochs.csv",
                "name a study folder, or one with validation-<batch>.csv and "
                "placements.csv");
  return out;
}

// A value that is not finite says that none was known yet.
std::vector<double> read_noise(const fs::path& file) {
  std::vector<double> out;
  if (!fs::exists(file)) return out;
  const Csv csv =
      parse_csv(read_file(file, Fault::store), file.string(), Fault::store);
  const std::size_t column = csv.required("noise_scale", Fault::store);
  for (const CsvRow& row : csv.rows) {
    const auto value = parse_number<double>(row.cells[column]);
    if (value && std::isfinite(*value)) out.push_back(*value);
  }
  return out;
}

// An emulated run's times are its model's, and the comparison is about those.
std::string why_not_timed(const NotTimed* not_timed, const RunConfig& config) {
  if (not_timed == nullptr) return "";
  if (not_timed->shared) return "ran beside others";
  return config.comm.kind == CommKind::emulated ? "" : "was " + not_timed->why;
}

Stored read_run(const fs::path& path, const fs::path& study,
                UntimedRuns& untimed) {
  const RunFolder folder = RunFolder::open(path);
  Stored run{.name = path.lexically_relative(root_of(study)).string(),
             .config = folder.config(),
             .record = {},
             .epochs = read_epochs(path / "epochs.csv"),
             .steps = {},
             .noise_scale = read_noise(path / "noise.csv")};
  run.done = folder.done();
  run.not_timed = why_not_timed(untimed.find(path), run.config);
  if (fs::exists(path / "record.json"))
    run.record = read_record(path / "record.json");
  if (fs::exists(path / "steps.csv"))
    run.steps = read_steps(path / "steps.csv");
  run.diverged = std::ranges::any_of(run.epochs, [](const EpochSample& e) {
    return !std::isfinite(e.train_loss);
  });
  return run;
}

std::int64_t examples_of(const Stored& run) {
  return run.record.data.value("validation_samples", std::int64_t{0});
}

// The one value all runs share; Error when they differ, 0 when none knows.
template <class Value>
std::int64_t shared(const std::vector<Stored>& runs, const char* what,
                    const Value& value) {
  std::set<std::int64_t> seen;
  for (const Stored& run : runs)
    if (value(run) > 0) seen.insert(value(run));
  if (seen.size() > 1)
    throw Error(Fault::config, what,
                fmt::format("runs differ: {}", fmt::join(seen, ", ")),
                "compare runs on the same data only");
  return seen.empty() ? 0 : *seen.begin();
}

// Steps up to and with each epoch, by the number of its last one. Of epochs
// whose steps were not kept: as many as the later ones had. Counts epochs where
// no step was kept at all.
double steps_until(const Stored& run, std::int64_t epoch) {
  if (run.steps.empty()) return static_cast<double>(epoch + 1);
  std::int64_t last = -1, all = 0, epochs = 1;
  for (const StepSample& s : run.steps) {
    if (s.epoch <= epoch) last = std::max(last, s.step);
    all = std::max(all, s.step + 1), epochs = std::max(epochs, s.epoch + 1);
  }
  if (last >= 0) return static_cast<double>(last + 1);
  return static_cast<double>((epoch + 1) * all) / static_cast<double>(epochs);
}

double median_step_s(const Stored& run) {
  std::vector<double> times;
  for (const StepSample& s : run.steps)
    if (s.rank == 0 && std::isfinite(s.step_s)) times.push_back(s.step_s);
  // The first tenth warms up.
  times.erase(times.begin(),
              times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10));
  return times.empty() ? std::nan("") : quantile(times, 0.5);
}

EpochTimes times_of(const Stored& run) {
  EpochTimes out{.settings = settings_but_seed(run.config),
                 .timed = run.not_timed.empty(),
                 .cut_short = run.diverged,
                 .end_s = {},
                 .step_s = median_step_s(run)};
  double time_s = 0;
  for (const EpochSample& e : run.epochs)
    out.end_s.push_back(time_s += e.seconds_with_loading > 0
                                      ? e.seconds_with_loading
                                      : e.seconds);
  return out;
}

bool chose_itself(const Stored& run) {
  return run.config.batch.mode != BatchMode::fixed;
}

// Runs left out, by reason in the order of the first: a study of a hundred runs
// has few reasons.
class LeftOut {
 public:
  void add(const std::string& name, const std::string& why) {
    for (auto& [reason, names] : by_reason_)
      if (reason == why) return names.push_back(name);
    by_reason_.push_back({why, {name}});
  }
  void say(std::vector<std::string>& notes) const {
    for (const auto& [why, names] : by_reason_)
      notes.push_back(names.size() == 1
                          ? fmt::format("{} left out: {}", names[0], why)
                          : fmt::format("{} runs left out ({} to {}), each: {}",
                                        names.size(), names.front(),
                                        names.back(), why));
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason_;
};

// A run that was not timed takes its times from its siblings, or is left out.
std::vector<Stored> with_times(std::vector<Stored> runs, LeftOut& left_out,
                               std::vector<std::string>& notes) {
  std::vector<EpochTimes> all;
  for (const Stored& run : runs) all.push_back(times_of(run));
  std::vector<Stored> out;
  std::size_t borrowers = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool own = chose_itself(runs[i]);
    auto times = all[i].timed ? std::optional(all[i])
                 : own        ? std::nullopt
                              : borrowed(all[i], all);
    if (!times) {
      left_out.add(
          runs[i].name,
          fmt::format("it {} and {}", runs[i].not_timed,
                      own ? "a run that chooses its batch has times of its own"
                          : "no run of the same settings was timed"));
      continue;
    }
    borrowers += all[i].timed ? 0 : 1;
    runs[i].times = std::move(*times);
    out.push_back(std::move(runs[i]));
  }
  if (borrowers > 0)
    notes.push_back(
        fmt::format("{} of {} runs were not timed: each takes its times from "
                    "the timed runs of the same settings",
                    borrowers, runs.size()));
  return out;
}

BatchRun convert(const Stored& stored, std::int64_t classes, bool recorded) {
  BatchRun run{.name = stored.name, .arm = {}};
  run.ranks = stored.config.comm.ranks;
  run.lr = stored.config.optim.lr;
  run.diverged = stored.diverged;
  run.step_s = stored.times.step_s;
  run.noise_scale = stored.noise_scale;
  run.late_noise = late_noise_of(stored.record);
  for (std::size_t i = 0; i < stored.epochs.size(); ++i) {
    const EpochSample& e = stored.epochs[i];
    if (!std::isfinite(e.train_loss)) break;
    if (!std::isfinite(e.val_accuracy)) continue;
    const double nats = recorded
                            ? e.information_nats
                            : information_of_accuracy(e.val_accuracy, classes);
    run.curve.push_back({stored.times.end_s[i], steps_until(stored, e.epoch),
                         nats, e.val_accuracy});
  }
  run.batch = static_cast<double>(stored.epochs.front().global_batch);
  return run;
}

ChoosingRun convert_choosing(const Stored& stored, std::int64_t classes,
                             bool recorded) {
  const BatchConfig& batch = stored.config.batch;
  ChoosingRun out{
      .run = convert(stored, classes, recorded),
      .mode = batch.mode == BatchMode::adaptive
                  ? "adaptive"
                  : fmt::format("a pilot of {} epoch{}", batch.pilot_epochs,
                                batch.pilot_epochs == 1 ? "" : "s"),
      .first_batch = static_cast<double>(global_batch(stored.config))};
  out.run.batch = static_cast<double>(stored.epochs.back().global_batch);
  const Json pilot = stored.record.summary.value("pilot", Json());
  if (pilot.is_object()) out.pilot_s = pilot.value("seconds", 0.0);
  return out;
}

// Out of the runs whose batches are compared.
std::vector<Stored> take_choosing(std::vector<Stored>& runs) {
  const auto rest =
      std::ranges::stable_partition(runs, std::not_fn(chose_itself));
  std::vector<Stored> out(std::make_move_iterator(rest.begin()),
                          std::make_move_iterator(rest.end()));
  runs.erase(rest.begin(), rest.end());
  return out;
}

// Empty when the run can be compared.
std::string reason_against(const Stored& run) {
  if (run.epochs.empty()) return "no epoch";
  if (!run.done && !run.diverged) return "not finished";
  if (!chose_itself(run) &&
      std::ranges::any_of(run.epochs, [&](const EpochSample& e) {
        return e.global_batch != run.epochs.front().global_batch;
      }))
    return "its batch size changes on the way";
  if (!run.diverged &&
      std::ranges::none_of(run.epochs, [](const EpochSample& e) {
        return std::isfinite(e.val_accuracy);
      }))
    return "nothing was held back for validation";
  return "";
}

std::vector<std::string> arms_of(const std::vector<Stored>& runs) {
  std::vector<RunConfig> configs;
  for (const Stored& run : runs) configs.push_back(run.config);
  return batch_arms(configs);
}

bool has_information(const Stored& run) {
  return std::ranges::all_of(run.epochs, [](const EpochSample& e) {
    return !std::isfinite(e.train_loss) || !std::isfinite(e.val_accuracy) ||
           std::isfinite(e.information_nats);
  });
}

void require_classes(const std::vector<Stored>& runs, std::int64_t classes) {
  if (runs.front().config.model.kind == ModelKind::gpt)
    throw Error(Fault::config, "information_nats",
                "was not recorded, and tokens are far from equally frequent: "
                "accuracy does not give their information");
  if (classes < 2)
    throw Error(Fault::config, "classes",
                "are not known: accuracy alone does not give information",
                "add --classes");
}

}  // namespace

RunConfig config_of_run(const fs::path& study, const std::string& name) {
  return RunFolder::open(root_of(study) / name).config();
}

BatchRuns read_batch_runs(const fs::path& study, std::int64_t classes) {
  BatchRuns out;
  std::vector<Stored> kept;
  UntimedRuns untimed;
  LeftOut left_out;
  for (const fs::path& path : run_folders(study)) {
    Stored run = read_run(path, study, untimed);
    if (const std::string why = reason_against(run); !why.empty())
      left_out.add(run.name, why);
    else
      kept.push_back(std::move(run));
  }
  kept = with_times(std::move(kept), left_out, out.notes);
  left_out.say(out.notes);
  const std::vector<Stored> choosing = take_choosing(kept);
  if (kept.empty())
    throw Error(Fault::config, study.string(),
                fmt::format("holds no run that can be compared: {}",
                            fmt::join(out.notes, "; ")));
  out.classes =
      classes > 0 ? classes : shared(kept, "classes", [](const Stored& run) {
        return classes_of(run.record);
      });
  out.eval_examples = shared(kept, "validation samples", examples_of);
  const bool recorded = std::ranges::all_of(kept, has_information) &&
                        std::ranges::all_of(choosing, has_information);
  if (!recorded) require_classes(kept, out.classes);
  out.recorded = recorded;
  out.information =
      recorded ? "as recorded with the runs" : "Fano's bound of the accuracy";
  const std::vector<std::string> arm_of = arms_of(kept);
  const std::vector<std::string> chooser_arms = arms_of(choosing);
  for (std::size_t i = 0; i < choosing.size(); ++i) {
    out.choosing.push_back(
        convert_choosing(choosing[i], out.classes, recorded));
    out.choosing.back().run.arm = chooser_arms[i];
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    out.runs.push_back(convert(kept[i], out.classes, recorded));
    out.runs.back().arm = arm_of[i];
    if (out.runs.back().diverged)
      out.notes.push_back(kept[i].name + " diverged");
  }
  return out;
}

}  // namespace lockstep
