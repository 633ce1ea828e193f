// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "lockstep/core/json_fields.h"
#include "lockstep/core/median.h"

namespace lockstep {
namespace {

std::vector<StepSample> settled(std::span<const StepSample> steps) {
  std::vector<StepSample> later;
  for (const StepSample& s : steps)
    if (s.epoch > steps.front().epoch) later.push_back(s);
  if (!later.empty()) return later;
  // One epoch only: leave out its first tenth.
  const std::size_t skip = steps.size() / 10;
  return {steps.begin() + static_cast<std::ptrdiff_t>(skip), steps.end()};
}

// Takes out the steps whose messages waited for backward and puts what they
// tell: backward with nothing in flight.
void take_held(Json& out, std::vector<StepSample>& steps,
               const MeasureConfig& measure) {
  std::vector<double> backward_s;
  std::erase_if(steps, [&](const StepSample& s) {
    const bool held = holds(measure, s.step);
    if (held && std::isfinite(s.backward_s)) backward_s.push_back(s.backward_s);
    return held;
  });
  if (measure.hold_every == 0) return;
  out["held_steps"] = backward_s.size();
  out["median_backward_held_s"] = number_or_null(median(std::move(backward_s)));
}

// How long each rank waited for the others in the last step of an epoch, where
// shares may be uneven: the median over epochs.
Json epoch_end_waits(std::span<const StepSample> steps) {
  std::map<std::pair<std::int64_t, std::int64_t>, const StepSample*> last;
  for (const StepSample& s : steps) {
    const StepSample*& found = last[{s.rank, s.epoch}];
    if (found == nullptr || found->step < s.step) found = &s;
  }
  std::map<std::int64_t, std::vector<double>> of_rank;
  for (const auto& [key, step] : last)
    of_rank[key.first].push_back(step->wait_s);
  Json out = Json::array();
  for (auto& [rank, waits] : of_rank)
    out.push_back(number_or_null(median(std::move(waits))));
  return out;
}

void add_steps(Json& out, std::span<const StepSample> all,
               const MeasureConfig& measure) {
  std::vector<StepSample> steps = settled(all);
  take_held(out, steps, measure);
  out["epoch_end_wait_s"] = epoch_end_waits(steps);
  const auto put = [&](const char* name, double StepSample::*field) {
    std::vector<double> values;
    for (const StepSample& s : steps) values.push_back(s.*field);
    out[name] = number_or_null(median(std::move(values)));
  };
  out["timed_steps"] = steps.size();
  put("median_step_s", &StepSample::step_s);
  put("median_data_s", &StepSample::data_s);
  put("median_copy_s", &StepSample::copy_s);
  put("median_forward_s", &StepSample::forward_s);
  put("median_backward_s", &StepSample::backward_s);
  put("median_comm_s", &StepSample::comm_s);
  put("median_exposed_comm_s", &StepSample::exposed_comm_s);
  put("median_optim_s", &StepSample::optim_s);
  put("median_wait_s", &StepSample::wait_s);
  double seconds = 0, samples = 0;
  for (const StepSample& s : steps) {
    if (s.rank == 0) seconds += s.step_s;
    samples += static_cast<double>(s.samples);
  }
  out["samples_per_s"] = number_or_null(samples / seconds);
}

void add_epochs(Json& out, std::span<const EpochSample> epochs) {
  const EpochSample& last = epochs.back();
  std::vector<double> seconds, with_loading;
  double best = std::nan("");
  std::int64_t peak = 0;
  for (const EpochSample& e : epochs) {
    seconds.push_back(e.seconds);
    with_loading.push_back(e.seconds_with_loading);
    best = std::fmax(best, e.val_accuracy);
    peak = std::max(peak, e.peak_memory_bytes);
  }
  out["epochs"] = epochs.size();
  out["median_epoch_s"] = number_or_null(median(seconds));
  out["median_epoch_with_loading_s"] = number_or_null(median(with_loading));
  out["final_train_loss"] = number_or_null(last.train_loss);
  out["final_train_accuracy"] = number_or_null(last.train_accuracy);
  out["final_val_loss"] = number_or_null(last.val_loss);
  out["final_val_accuracy"] = number_or_null(last.val_accuracy);
  out["best_val_accuracy"] = number_or_null(best);
  out["peak_memory_bytes"] = peak;
}

}  // namespace

Json summarise(std::span<const StepSample> steps,
               std::span<const EpochSample> epochs,
               const MeasureConfig& measure) {
  Json out = Json::object();
  if (!steps.empty()) add_steps(out, steps, measure);
  if (!epochs.empty()) add_epochs(out, epochs);
  return out;
}

Json to_json(const RunRecord& r) {
  Json out = {{"schema", kRecordSchema},  {"status", r.status},
              {"reason", r.reason},       {"command", r.command},
              {"began_utc", r.began_utc}, {"ended_utc", r.ended_utc},
              {"backend", r.backend},     {"versions", r.versions},
              {"config", r.config},       {"data", r.data},
              {"work", r.work},           {"comm", r.comm},
              {"steps", r.steps},         {"summary", r.summary}};
  if (!r.advice.empty()) out["advice"] = r.advice;
  return out;
}

RunRecord read_record(const std::filesystem::path& file) {
  const Json json = read_json(file, Fault::store);
  try {
    const int schema = json.at("schema").get<int>();
    if (schema > kRecordSchema)
      throw Error(Fault::store, file.string(),
                  fmt::format("has schema {}, this program knows up to {}",
                              schema, kRecordSchema),
                  "use a newer lockstep");
    RunRecord r;
    r.status = json.at("status"), r.reason = json.at("reason");
    r.command = json.at("command"), r.began_utc = json.at("began_utc");
    r.ended_utc = json.at("ended_utc"), r.backend = json.at("backend");
    r.versions = json.at("versions"), r.config = json.at("config");
    r.data = json.at("data"), r.work = json.at("work");
    r.comm = json.at("comm"), r.summary = json.at("summary");
    r.steps = json.value("steps", Json::object());
    r.advice = json.value("advice", Json::object());
    return r;
  } catch (const nlohmann::json::exception& e) {
    throw Error(Fault::store, file.string(),
                fmt::format("is not a run record: {}", e.what()));
  }
}

}  // namespace lockstep
