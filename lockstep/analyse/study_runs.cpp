// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/study_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "lockstep/analyse/study_ledger.h"
#include "lockstep/analyse/untimed.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/error.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/store/study_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& path) {
  return fs::is_regular_file(path / "config.toml") ||
         fs::is_regular_file(path / "record.json");
}

struct Found {
  fs::path path;
  std::string name;    // below the folder that was given
  bool given = false;  // it is that folder
};

// Run folders in or below, in order; a run holds no other.
void find_runs(const fs::path& path, const fs::path& root, int depth,
               std::vector<Found>& out) {
  if (is_run(path)) {
    const bool given = path == root;
    std::string name = given ? path.filename().string()
                             : path.lexically_relative(root).generic_string();
    if (name.starts_with("runs/")) name = name.substr(5);
    out.push_back({path, name.empty() ? path.string() : name, given});
    return;
  }
  if (depth == 0) return;
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_directory()) below.push_back(entry.path());
  std::ranges::sort(below);
  for (const fs::path& folder : below) find_runs(folder, root, depth - 1, out);
}

struct Attempt {
  std::optional<RunFacts> facts;
  std::string complaint;
};

// With a thread for each core: ten thousand runs are read in seconds.
std::vector<Attempt> read_attempts(const std::vector<Found>& runs) {
  std::vector<Attempt> out(runs.size());
  std::atomic<std::size_t> next = 0;
  const Resampling how{.draws = runs.size() > 1000 ? 100 : 400};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < runs.size();) try {
        out[i].facts = read_facts(runs[i].path, {how.draws, i + 1});
      } catch (const std::exception& e) {
        out[i].complaint = e.what();
      }
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min(core_count(), 8) && runs.size() > 20; ++i)
    helpers.emplace_back(work);
  work();
  return out;
}

void take_runs(Study& study, const std::vector<Found>& found) {
  std::vector<Attempt> attempts = read_attempts(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (attempts[i].facts) {
      study.runs.push_back(std::move(*attempts[i].facts));
      study.runs.back().name = found[i].name;
    } else if (found[i].given) {
      throw Error(Fault::store, found[i].path.string(), attempts[i].complaint);
    } else {
      study.notes.push_back("left out: " + attempts[i].complaint);
    }
  }
}

// An emulated run's times are those of its model, and shown as such.
void drop_times(Study& study) {
  UntimedRuns untimed;
  int beside = 0;
  for (RunFacts& run : study.runs) {
    const NotTimed* not_timed = untimed.find(run.path);
    if (not_timed == nullptr || (run.emulated && !not_timed->shared)) continue;
    forget_times(run, not_timed->why);
    beside += not_timed->shared ? 1 : 0;
  }
  if (beside > 0)
    study.notes.push_back(fmt::format("{} of {} runs {}", beside,
                                      study.runs.size(), kRanBesideOthers));
}

std::string machine_of(const RunFacts& run) {
  if (run.host.empty() && run.hardware.empty()) return "";
  return run.hardware.empty() ? run.host : run.hardware + " (" + run.host + ")";
}

auto point_key(const RunFacts& r) {
  return std::make_tuple(r.model, r.hardware, r.device, r.precision, r.strategy,
                         r.route, r.emulated, r.link, r.lr, r.arm, r.mode,
                         r.per_rank, r.global_batch, r.ranks);
}

template <class Value>
double mean_of(const Study& study, const StudyPoint& point,
               const Value& value) {
  double sum = 0, count = 0;
  for (const std::size_t i : point.runs) {
    const double v = value(study.runs[i]);
    if (std::isfinite(v)) sum += v, count += 1;
  }
  return count > 0 ? sum / count : std::nan("");
}

// Its runs carry out one plan: what they send is the same.
std::vector<PayloadFlow> payloads_of(const Study& study,
                                     const StudyPoint& point) {
  std::vector<PayloadFlow> out;
  for (const std::size_t i : point.runs)
    if (out.empty()) out = study.runs[i].payloads;
  for (PayloadFlow& flow : out)
    flow.seconds = mean_of(study, point, [&](const RunFacts& r) {
      const auto found =
          std::ranges::find(r.payloads, flow.payload, &PayloadFlow::payload);
      return found == r.payloads.end() ? std::nan("") : found->seconds;
    });
  return out;
}

void fill(const Study& study, StudyPoint& point) {
  point.batch_changes = std::ranges::any_of(
      point.runs, [&](std::size_t i) { return study.runs[i].batch_changes; });
  const auto mean = [&](double StepPieces::*piece) {
    return mean_of(study, point,
                   [&](const RunFacts& r) { return r.pieces.*piece; });
  };
  std::vector<Estimate> steps;
  for (const std::size_t i : point.runs)
    if (study.runs[i].timed()) steps.push_back(study.runs[i].step);
  if (!steps.empty())
    point.step = pool(steps, {.seed = point.runs[0] + 1});
  else if (!point.why.empty())
    point.step = {
        .value = std::nan(""), .low = std::nan(""), .high = std::nan("")};
  point.pieces = {.data_s = mean(&StepPieces::data_s),
                  .copy_s = mean(&StepPieces::copy_s),
                  .forward_s = mean(&StepPieces::forward_s),
                  .backward_s = mean(&StepPieces::backward_s),
                  .exposed_comm_s = mean(&StepPieces::exposed_comm_s),
                  .optim_s = mean(&StepPieces::optim_s),
                  .wait_s = mean(&StepPieces::wait_s),
                  .comm_s = mean(&StepPieces::comm_s)};
  const auto of = [&](double RunFacts::*field) {
    return mean_of(study, point, [&](const RunFacts& r) { return r.*field; });
  };
  point.epoch_s = of(&RunFacts::epoch_s);
  point.epoch_low_s = point.epoch_s * point.step.low / point.step.value;
  point.epoch_high_s = point.epoch_s * point.step.high / point.step.value;
  point.samples_per_s = mean_of(study, point, [&](const RunFacts& r) {
    return r.batch_changes
               ? number_in(r.summary, "samples_per_s")
               : static_cast<double>(point.global_batch) / point.step.value;
  });
  point.imbalance = of(&RunFacts::imbalance);
  point.bus_bytes_per_s = of(&RunFacts::bus_bytes_per_s);
  point.peak_bus_bytes_per_s = of(&RunFacts::peak_bus_bytes_per_s);
  point.peak_memory_bytes = of(&RunFacts::peak_memory_bytes);
  point.bytes_a_step = of(&RunFacts::bytes_a_step);
  point.payloads = payloads_of(study, point);
  point.best_val_accuracy = mean_of(study, point, [](const RunFacts& r) {
    double best = std::nan("");
    for (const EpochSample& e : r.epochs)
      best = std::fmax(best, e.val_accuracy);
    return best;
  });
}

void sort_into_points(Study& study) {
  std::map<decltype(point_key(study.runs[0])), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < study.runs.size(); ++i)
    groups[point_key(study.runs[i])].push_back(i);
  for (auto& [key, runs] : groups) {
    const RunFacts& r = study.runs[runs[0]];
    StudyPoint point{.model = r.model,
                     .strategy = r.strategy,
                     .device = r.device,
                     .hardware = r.hardware,
                     .arm = r.arm,
                     .route = r.route};
    point.ranks = r.ranks, point.per_rank = r.per_rank;
    point.global_batch = r.global_batch;
    if (r.emulated) point.origin = Origin::emulated;
    if (r.mode == "correctness") point.origin = Origin::correctness;
    point.runs = std::move(runs);
    if (std::ranges::none_of(point.runs, [&](std::size_t i) {
          return study.runs[i].not_timed.empty();
        }))
      point.why = r.not_timed;
    fill(study, point);
    study.points.push_back(std::move(point));
  }
}

void name_machines(Study& study) {
  std::set<std::string> machines;
  for (const RunFacts& run : study.runs)
    if (const std::string m = machine_of(run); !m.empty()) machines.insert(m);
  study.machines.assign(machines.begin(), machines.end());
  if (machines.size() > 1)
    study.notes.push_back(fmt::format(
        "{} machines in one study: times of different machines are never "
        "divided by each other",
        machines.size()));
}

void note_statuses(Study& study) {
  std::map<std::string, int> statuses;
  int lost = 0;
  for (const RunFacts& run : study.runs) {
    if (run.status != "done") ++statuses[run.status];
    lost += std::ranges::any_of(run.epochs, [](const EpochSample& e) {
      return !std::isfinite(e.train_loss);
    });
  }
  for (const auto& [status, count] : statuses)
    study.notes.push_back(
        fmt::format("{} of {} runs: {}", count, study.runs.size(), status));
  if (lost > 0)
    study.notes.push_back(
        fmt::format("{} of {} runs diverged: their loss is not a number", lost,
                    study.runs.size()));
}

}  // namespace

std::string_view word(Origin origin) {
  constexpr std::string_view kWords[] = {"measured", "emulated", "correctness",
                                         "predicted", "failed"};
  return kWords[static_cast<int>(origin)];
}

Study read_runs(std::span<const std::string> paths) {
  Study study{.paths = {paths.begin(), paths.end()}};
  std::vector<Found> found;
  bool has_ledger = false;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path))
      throw Error(Fault::config, path, "is not a folder",
                  "name a study folder, or run folders");
    find_runs(path, path, 3, found);
    has_ledger |= is_study(path);
  }
  if (found.empty() && !has_ledger)
    throw Error(Fault::store, study.paths.front(),
                "is not a run folder and holds none",
                "a run folder holds config.toml and record.json; `lockstep "
                "sweep` or `lockstep train` makes some");
  take_runs(study, found);
  for (const std::string& path : paths) mark_runs(study, path);
  drop_times(study);
  sort_into_points(study);
  name_machines(study);
  note_statuses(study);
  for (const std::string& path : paths) add_unrun_points(study, path);
  if (study.points.empty())
    throw Error(Fault::store, study.paths.front(),
                fmt::format("holds no run that can be read: {}",
                            study.notes.empty() ? "its ledger names no point"
                                                : study.notes.front()));
  return study;
}

}  // namespace lockstep
