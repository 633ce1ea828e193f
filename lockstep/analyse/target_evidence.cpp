// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/target_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "lockstep/analyse/run_facts.h"
#include "lockstep/analyse/student.h"
#include "lockstep/batch/critical_batch.h"
#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/core/csv.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/core/median.h"
#include "lockstep/core/text.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr double kNever = std::numeric_limits<double>::infinity();

struct OneRun {
  std::string model;
  double batch = 0, lr = 0;
  double samples = kNever;  // to the target
  double best = std::nan("");
  double noise_scale = std::nan("");
};

bool has_epochs(const fs::path& path) {
  return fs::is_regular_file(path / "record.json") &&
         fs::is_regular_file(path / "epochs.csv");
}

std::vector<fs::path> evidence_folders(const fs::path& path) {
  if (!fs::is_directory(path))
    throw Error(Fault::config, path.string(), "is not a folder",
                "--from takes a run folder or a study folder");
  if (has_epochs(path)) return {path};
  std::vector<fs::path> out;
  for (auto at = fs::recursive_directory_iterator(path);
       at != fs::recursive_directory_iterator(); ++at) {
    if (!at->is_directory()) continue;
    const bool run = has_epochs(at->path());
    if (run) out.push_back(at->path());
    // STUDY/runs/<point>/<repeat>
    if (run || at.depth() > 2) at.disable_recursion_pending();
  }
  std::ranges::sort(out);
  if (out.empty())
    throw Error(Fault::config, path.string(), "holds no run with epochs.csv");
  return out;
}

// The second half's where its samples resolve it, else the median of what was
// measured along the run; NaN when nothing was.
double noise_of(const RunRecord& record, const fs::path& file) {
  if (const auto late = late_noise_of(record)) return late->value;
  if (!fs::exists(file)) return std::nan("");
  const Csv csv =
      parse_csv(read_file(file, Fault::store), file.string(), Fault::store);
  const std::size_t column = csv.required("noise_scale", Fault::store);
  std::vector<double> values;
  for (const CsvRow& row : csv.rows)
    values.push_back(
        parse_number<double>(row.cells[column]).value_or(std::nan("")));
  return median(std::move(values));
}

// At the run's batch, as its rule has it.
double rate_of(const OptimConfig& optim, double batch) {
  const auto base = static_cast<double>(optim.base_batch);
  switch (optim.lr_rule) {
    case LrRule::none:
      return optim.lr;
    case LrRule::linear:
      return linear_lr(optim.lr, base, batch);
    case LrRule::square_root:
    case LrRule::legw:  // stretches the warm-up as well
      return square_root_lr(optim.lr, base, batch);
  }
  return optim.lr;
}

// Nothing for a run whose batch size changes on the way.
std::optional<OneRun> read_one(const fs::path& path, double accuracy) {
  const RunRecord record = read_record(path / "record.json");
  const RunConfig config = RunFolder::open(path).config();
  const std::vector<EpochSample> epochs = read_epochs(path / "epochs.csv");
  const auto an_epoch =
      static_cast<double>(whole_in(record.data, "train_samples"));
  OneRun run{.model = word(config, "model.kind")};
  if (epochs.empty() || an_epoch <= 0) return std::nullopt;
  run.batch = static_cast<double>(epochs.front().global_batch);
  run.lr = rate_of(config.optim, run.batch);
  run.noise_scale = noise_of(record, path / "noise.csv");
  for (const EpochSample& e : epochs) {
    if (static_cast<double>(e.global_batch) != run.batch) return std::nullopt;
    run.best = std::fmax(run.best, e.val_accuracy);
    if (e.val_accuracy >= accuracy && run.samples == kNever)
      run.samples = an_epoch * static_cast<double>(e.epoch + 1);
  }
  return run;
}

std::vector<OneRun> read_all(const fs::path& path, double accuracy) {
  std::vector<OneRun> out;
  for (const fs::path& folder : evidence_folders(path))
    if (const auto run = read_one(folder, accuracy)) out.push_back(*run);
  if (out.empty())
    throw Error(Fault::config, path.string(),
                "holds no run of one batch size with its number of samples");
  for (const OneRun& run : out)
    if (run.model != out.front().model)
      throw Error(Fault::config, path.string(),
                  "holds runs of " + out.front().model + " and of " + run.model,
                  "--from takes runs of the model that is asked about");
  return out;
}

using RunsByArm = std::map<std::pair<double, double>, std::vector<OneRun>>;

// Half of a batch's runs or more never got there: its median is not known.
double middle(const std::vector<OneRun>& runs) {
  std::vector<double> samples;
  for (const OneRun& run : runs) samples.push_back(run.samples);
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

std::vector<TargetReached> best_arms(const RunsByArm& arms) {
  std::map<double, TargetReached> best;
  for (const auto& [at, runs] : arms) {
    const TargetReached arm{
        at.first, at.second, middle(runs), runs.size(),
        static_cast<std::size_t>(std::ranges::count_if(
            runs, [](const OneRun& r) { return r.samples < kNever; }))};
    if (arm.samples == kNever) continue;
    const auto [had, is_new] = best.emplace(arm.batch, arm);
    if (!is_new && arm.samples < had->second.samples) had->second = arm;
  }
  std::vector<TargetReached> out;
  for (const auto& [batch, arm] : best) out.push_back(arm);
  return out;
}

// How steps fall with the batch size, where it can be seen.
void fit_noise(TargetEvidence& out) {
  if (out.batches.size() < 3) return;
  std::vector<StepsToTarget> points;
  for (const TargetReached& b : out.batches)
    points.push_back({b.batch, b.samples / b.batch});
  const CriticalBatch fit = fit_critical_batch(points);
  if (!fit.bends) return;
  out.noise_scale = fit.batch;
  out.min_examples = fit.min_examples;
  out.noise_fitted = true;
}

// By the spread between runs of one batch and rate.
double half_interval(const TargetEvidence& evidence, const RunsByArm& arms) {
  double squares = 0, free = 0;
  for (const TargetReached& b : evidence.batches) {
    std::vector<double> logs;
    for (const OneRun& run : arms.at({b.batch, b.lr}))
      if (run.samples < kNever) logs.push_back(std::log(run.samples));
    double mean = 0;
    for (const double v : logs) mean += v / static_cast<double>(logs.size());
    for (const double v : logs) squares += (v - mean) * (v - mean);
    free += static_cast<double>(logs.size()) - 1;
  }
  if (free < 1) return 0;
  const double runs = free + static_cast<double>(evidence.batches.size());
  return student_quantile(0.95, free) * std::sqrt(squares / free) *
         std::sqrt(1 + 1 / runs);
}

[[noreturn]] void refuse(const fs::path& path, double accuracy,
                         const std::vector<OneRun>& runs) {
  double best = std::nan("");
  for (const OneRun& run : runs) best = std::fmax(best, run.best);
  if (std::isnan(best))
    throw Error(Fault::config, path.string(),
                "nothing was held back for validation",
                "train with data.split=official or random");
  throw Error(Fault::config, path.string(),
              fmt::format("no batch size has most of its runs reach {:.4g}; "
                          "the best validation accuracy seen is {:.4g}",
                          accuracy, best),
              "a lower --target, or runs that reached it");
}

}  // namespace

const TargetReached* TargetEvidence::at(double batch) const {
  const auto found = std::ranges::find(batches, batch, &TargetReached::batch);
  return found == batches.end() ? nullptr : &*found;
}

std::size_t TargetEvidence::runs() const {
  std::size_t out = 0;
  for (const TargetReached& b : batches) out += b.runs;
  return out;
}

TargetEvidence read_target_evidence(const fs::path& path, double accuracy) {
  const std::vector<OneRun> runs = read_all(path, accuracy);
  RunsByArm arms;
  std::vector<double> noise;
  for (const OneRun& run : runs) {
    arms[{run.batch, run.lr}].push_back(run);
    noise.push_back(run.noise_scale);
  }
  TargetEvidence out{.model = runs.front().model,
                     .accuracy = accuracy,
                     .batches = best_arms(arms)};
  if (out.batches.empty()) refuse(path, accuracy, runs);
  out.log_half_90 = half_interval(out, arms);
  fit_noise(out);
  const double measured = median(std::move(noise));
  if (!out.noise_fitted && std::isfinite(measured) && measured > 0)
    out.noise_scale = measured;
  return out;
}

}  // namespace lockstep
