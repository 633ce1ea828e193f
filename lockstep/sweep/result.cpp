// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "lockstep/core/error.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/core/median.h"
#include "lockstep/store/run_record.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

constexpr int kResamples = 1000;

// The same draws on every platform, unlike std::uniform_int_distribution.
class Draw {
 public:
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(static_cast<double>(bits_() >> 11) *
                                    0x1p-53 * static_cast<double>(n));
  }

 private:
  std::mt19937_64 bits_{1};
};

// One resample: as many runs, each with as many steps.
double resampled_median(std::span<const RunTimes> runs, Draw& draw) {
  std::vector<double> values;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<double>& steps = runs[draw.below(runs.size())].full_s;
    for (std::size_t k = 0; k < steps.size(); ++k)
      values.push_back(steps[draw.below(steps.size())]);
  }
  return median(std::move(values));
}

void add_summary(Json& out, const Json& summary) {
  const auto take = [&](const char* name, const char* from) {
    out[name] = summary.contains(from) ? summary[from] : Json(nullptr);
  };
  take("samples_per_s", "samples_per_s");
  take("data_s", "median_data_s");
  take("comm_s", "median_comm_s");
  take("exposed_comm_s", "median_exposed_comm_s");
  for (const char* name :
       {"epochs", "final_train_loss", "final_train_accuracy", "final_val_loss",
        "final_val_accuracy", "best_val_accuracy", "peak_memory_bytes"})
    take(name, name);
}

}  // namespace

double PooledTimes::half_width() const {
  return std::max(hi95_s - median_step_s, median_step_s - lo95_s) /
         median_step_s;
}

RunTimes times_of(const std::filesystem::path& run, std::int64_t warmup) {
  const RunRecord record = read_record(run / "record.json");
  RunTimes out;
  out.epoch_samples = record.data.value("train_samples", 0.0);
  struct Step {
    double seconds = 0;
    std::int64_t samples = 0;
  };
  std::map<std::int64_t, Step> steps;
  for (const StepSample& s : read_steps(run / "steps.csv")) {
    Step& step = steps[s.step];
    step.seconds = std::fmax(step.seconds, s.step_s);
    step.samples += s.samples;
  }
  std::int64_t most = 1;
  for (const auto& [index, step] : steps) most = std::max(most, step.samples);
  out.global_batch = static_cast<double>(most);
  for (const auto& [index, step] : steps)
    if (index >= warmup)
      (step.samples == most ? out.full_s : out.partial_s)
          .push_back(step.seconds);
  return out;
}

double epoch_of(const RunTimes& times, double full_step_s) {
  const double full = std::floor(times.epoch_samples / times.global_batch);
  const double rest = times.epoch_samples - full * times.global_batch;
  if (rest <= 0) return full * full_step_s;
  const double last = times.partial_s.empty()
                          ? full_step_s * rest / times.global_batch
                          : median(times.partial_s);
  return full * full_step_s + last;
}

PooledTimes pool(std::span<const RunTimes> runs) {
  PooledTimes out;
  RunTimes all;
  for (const RunTimes& run : runs) {
    all.full_s.insert(all.full_s.end(), run.full_s.begin(), run.full_s.end());
    all.partial_s.insert(all.partial_s.end(), run.partial_s.begin(),
                         run.partial_s.end());
    all.epoch_samples = run.epoch_samples;
    all.global_batch = run.global_batch;
  }
  check(!all.full_s.empty(), "some run has a full step");
  out.runs = std::ssize(runs), out.samples = std::ssize(all.full_s);
  out.median_step_s = median(all.full_s);
  out.epoch_s = epoch_of(all, out.median_step_s);
  Draw draw;
  std::vector<double> medians;
  for (int i = 0; i < kResamples; ++i) {
    const double m = resampled_median(runs, draw);
    if (std::isfinite(m)) medians.push_back(m);
  }
  std::ranges::sort(medians);
  const auto at = [&](double share) {
    return medians[static_cast<std::size_t>(
        share * static_cast<double>(medians.size() - 1))];
  };
  out.lo95_s = at(0.025), out.hi95_s = at(0.975);
  return out;
}

Json result_of(const std::filesystem::path& run, std::int64_t warmup) {
  const RunRecord record = read_record(run / "record.json");
  const Json& summary = record.summary;
  Json out = Json::object();
  if (warmup >= 0) {
    const RunTimes times = times_of(run, warmup);
    const double step_s = median(times.full_s);
    out["timed_steps"] = times.full_s.size();
    out["median_step_s"] = number_or_null(step_s);
    out["epoch_s"] = number_or_null(epoch_of(times, step_s));
    out["epoch_from"] = "steps";
  } else {
    out["timed_steps"] = summary.value("timed_steps", Json(nullptr));
    out["median_step_s"] = summary.value("median_step_s", Json(nullptr));
    out["epoch_s"] = summary.value("median_epoch_s", Json(nullptr));
    out["epoch_with_loading_s"] =
        summary.value("median_epoch_with_loading_s", Json(nullptr));
    out["epoch_from"] = "epochs";
  }
  add_summary(out, summary);
  out["train_samples"] = record.data.value("train_samples", Json(nullptr));
  out["bytes_a_step"] = record.comm.value("bytes_a_step", Json(nullptr));
  return out;
}

}  // namespace lockstep
