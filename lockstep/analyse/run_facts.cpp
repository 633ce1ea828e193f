// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/batch/special.h"
#include "lockstep/config/model_name.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const Json& part(const Json& object, const char* field) {
  static const Json kNothing = Json::object();
  const auto found = object.find(field);
  return found != object.end() && found->is_object() ? *found : kNothing;
}

// Models of the `variable` family differ by their size alone.
std::string name_of(const Json& model) {
  std::string kind = text_in(model, "kind");
  if (kind != "variable") return kind;
  ModelConfig config{.kind = ModelKind::variable};
  config.variable_params = whole_in(model, "variable_params");
  config.variable_flops = whole_in(model, "variable_flops");
  return model_name(config);
}

void take_config(RunFacts& f, const Json& config) {
  const Json &batch = part(config, "batch"), &comm = part(config, "comm"),
             &train = part(config, "train");
  f.model = name_of(part(config, "model"));
  f.strategy = text_in(part(config, "strategy"), "kind");
  f.route = text_in(part(config, "strategy"), "collective");
  f.device = text_in(train, "device"),
  f.precision = text_in(train, "precision");
  f.link = text_in(comm, "link");
  f.emulated = text_in(comm, "kind") == "emulated";
  f.seed = whole_in(train, "seed"), f.asked_steps = whole_in(train, "steps");
  f.lr = number_in(part(config, "optim"), "lr");
  f.ranks = std::max<std::int64_t>(1, whole_in(comm, "ranks"));
  const std::int64_t passes =
      std::max<std::int64_t>(1, whole_in(batch, "accumulate"));
  f.global_batch = whole_in(batch, "global"),
  f.per_rank = whole_in(batch, "per_rank");
  if (f.global_batch > 0)
    f.per_rank = f.global_batch / (f.ranks * passes);
  else
    f.global_batch = f.per_rank * f.ranks * passes;
}

void take_record(RunFacts& f, const RunRecord& r) {
  f.status = r.status, f.reason = r.reason, f.command = r.command;
  f.began_utc = r.began_utc, f.backend = r.backend;
  take_config(f, r.config);
  f.parameters = whole_in(r.work, "parameters");
  f.samples_per_epoch = whole_in(r.data, "train_samples");
  f.validation_samples = whole_in(r.data, "validation_samples");
  f.classes = classes_of(r);
  f.bytes_a_step = number_in(r.comm, "bytes_a_step");
  f.flops_a_sample = number_in(r.work, "forward_flops_a_sample") +
                     number_in(r.work, "backward_flops_a_sample");
  f.launches_a_step = number_in(r.steps, "launches_a_step");
  f.operations_a_step = number_in(r.steps, "operations_a_step");
}

void take_machine(RunFacts& f) {
  const fs::path file = f.path / "machine.json";
  if (!fs::exists(file)) return;
  const Json machine = read_json(file, Fault::store);
  if (!machine.is_object()) return;
  f.host = text_in(machine, "host");
  const Json& device = part(machine, "device");
  f.hardware = text_in(device, "name");
  if (f.hardware.empty()) f.hardware = text_in(device, "kind");
  f.memory_bytes = number_in(device, "memory_bytes");
  if (!(f.memory_bytes > 0))
    f.memory_bytes = number_in(machine, "memory_bytes");
}

double median_of(const std::vector<StepSample>& steps,
                 double StepSample::*field) {
  std::vector<double> values;
  for (const StepSample& s : steps)
    if (std::isfinite(s.*field)) values.push_back(s.*field);
  return values.empty() ? std::nan("") : quantile(std::move(values), 0.5);
}

double imbalance_of(const std::vector<StepSample>& steps) {
  std::map<std::int64_t, std::pair<double, double>> ranks;  // sum, count
  for (const StepSample& s : steps) {
    ranks[s.rank].first += s.forward_s + s.backward_s + s.optim_s;
    ranks[s.rank].second += 1;
  }
  double sum = 0, slowest = 0;
  for (const auto& [rank, work] : ranks) {
    sum += work.first / work.second;
    slowest = std::max(slowest, work.first / work.second);
  }
  const double each = sum / static_cast<double>(ranks.size());
  return ranks.size() > 1 && each > 0 ? slowest / each - 1 : 0;
}

void take_steps(RunFacts& f, const Resampling& how) {
  const fs::path file = f.path / "steps.csv";
  if (!fs::exists(file)) return;
  const std::vector<StepSample> steps = settled_steps(file);
  for (const StepSample& s : steps)
    if (s.rank == 0) f.step_s.push_back(s.step_s);
  if (steps.empty()) return;
  f.step = estimate_median(f.step_s, how);
  f.pieces = {.data_s = median_of(steps, &StepSample::data_s),
              .copy_s = median_of(steps, &StepSample::copy_s),
              .forward_s = median_of(steps, &StepSample::forward_s),
              .backward_s = median_of(steps, &StepSample::backward_s),
              .exposed_comm_s = median_of(steps, &StepSample::exposed_comm_s),
              .optim_s = median_of(steps, &StepSample::optim_s),
              .wait_s = median_of(steps, &StepSample::wait_s),
              .comm_s = median_of(steps, &StepSample::comm_s)};
  f.imbalance = imbalance_of(steps);
}

// Where the step file was left behind, the record's medians stand in.
void take_summary(RunFacts& f, const Json& summary) {
  const double step = number_in(summary, "median_step_s");
  if (f.timed() || !(step > 0)) return;
  f.step = single_value(step);
  f.step.count = static_cast<std::size_t>(whole_in(summary, "timed_steps"));
  f.pieces = {.data_s = number_in(summary, "median_data_s"),
              .copy_s = number_in(summary, "median_copy_s"),
              .forward_s = number_in(summary, "median_forward_s"),
              .backward_s = number_in(summary, "median_backward_s"),
              .exposed_comm_s = number_in(summary, "median_exposed_comm_s"),
              .optim_s = number_in(summary, "median_optim_s"),
              .wait_s = number_in(summary, "median_wait_s"),
              .comm_s = number_in(summary, "median_comm_s")};
  f.notes.push_back("no steps.csv: a median without an interval");
}

// Without the run's first step, which warms up, where there is another.
std::vector<PayloadFlow> flows_of(const std::vector<CommSample>& messages) {
  if (messages.empty()) return {};
  const auto step = [](const CommSample& m) { return m.step; };
  const auto [first, last] = std::ranges::minmax(messages, {}, step);
  std::map<std::string, PayloadFlow> flows;
  std::set<std::int64_t> steps;
  for (const CommSample& m : messages) {
    if (m.rank != 0 || (m.step == first.step && first.step < last.step))
      continue;
    steps.insert(m.step);
    PayloadFlow& flow = flows[m.payload];
    const double took = m.end_s - m.begin_s;
    flow.messages += 1, flow.bytes += static_cast<double>(m.bytes);
    flow.seconds += took;
    if (std::isfinite(m.bus_bytes_per_s))
      flow.bus_bytes += took * m.bus_bytes_per_s;
  }
  const double n = static_cast<double>(steps.size());
  std::vector<PayloadFlow> out;
  for (const auto& [name, f] : flows)
    out.push_back({.payload = name,
                   .messages = f.messages / n,
                   .bytes = f.bytes / n,
                   .bus_bytes = f.bus_bytes / n,
                   .seconds = f.seconds / n});
  return out;
}

void take_messages(RunFacts& f) {
  const fs::path file = f.path / "comm.csv";
  if (f.ranks < 2 || !fs::exists(file)) return;
  double seconds = 0, moved = 0, best = 0;
  const std::vector<CommSample> messages = read_comm(file);
  f.payloads = flows_of(messages);
  for (const CommSample& m : messages) {
    const double took = m.end_s - m.begin_s;
    if (!(took > 0) || !std::isfinite(m.bus_bytes_per_s)) continue;
    seconds += took, moved += took * m.bus_bytes_per_s;
    best = std::max(best, m.bus_bytes_per_s);
  }
  if (!(seconds > 0)) return;
  f.bus_bytes_per_s = moved / seconds, f.peak_bus_bytes_per_s = best;
}

// A run that ends after so many steps may end within an epoch.
std::int64_t whole_epochs(const RunFacts& f) {
  const double each = f.steps_per_epoch();
  return f.asked_steps > 0 && each > 0
             ? static_cast<std::int64_t>(static_cast<double>(f.asked_steps) /
                                         each)
             : static_cast<std::int64_t>(f.epochs.size());
}

// A pilot picks another batch than the recipe's, an adaptive run many.
void take_batch(RunFacts& f) {
  const auto batch = [](const EpochSample& e) { return e.global_batch; };
  const auto [least, most] = std::ranges::minmax(f.epochs, {}, batch);
  if (batch(least) < 1) return;
  f.batch_changes = batch(least) != batch(most);
  if (f.batch_changes)
    f.notes.push_back(fmt::format("its batch changes as it trains: {} to {}",
                                  batch(least), batch(most)));
  else if (f.global_batch > 0 && batch(least) != f.global_batch)
    f.per_rank = f.per_rank * batch(least) / f.global_batch,
    f.global_batch = batch(least);
}

void take_epochs(RunFacts& f) {
  const fs::path file = f.path / "epochs.csv";
  if (fs::exists(file)) f.epochs = read_epochs(file);
  if (!f.epochs.empty()) take_batch(f);
  std::vector<double> with, without;
  for (const EpochSample& e : f.epochs) {
    f.peak_memory_bytes =
        std::max(f.peak_memory_bytes, static_cast<double>(e.peak_memory_bytes));
    // The first epoch warms up.
    if (e.epoch == f.epochs.front().epoch || e.epoch >= whole_epochs(f))
      continue;
    if (e.seconds_with_loading > 0) with.push_back(e.seconds_with_loading);
    if (e.seconds > 0) without.push_back(e.seconds);
  }
  if (!with.empty()) f.epoch_s = quantile(std::move(with), 0.5);
  if (!without.empty())
    f.epoch_without_loading_s = quantile(std::move(without), 0.5);
  if (f.epoch_s > 0 || !f.timed()) return;
  f.epoch_s = f.step.value * f.steps_per_epoch();
  f.epoch_without_loading_s =
      (f.step.value - (std::isfinite(f.pieces.data_s) ? f.pieces.data_s : 0)) *
      f.steps_per_epoch();
  f.epoch_from_steps = f.epoch_s > 0;
}

}  // namespace

std::vector<StepSample> settled_steps(const fs::path& steps_csv) {
  std::vector<StepSample> steps = read_steps(steps_csv);
  if (steps.empty()) return steps;
  const std::int64_t first = steps.front().epoch;
  const bool later = std::ranges::any_of(
      steps, [&](const StepSample& s) { return s.epoch > first; });
  if (later) {
    std::erase_if(steps, [&](const StepSample& s) { return s.epoch == first; });
    return steps;
  }
  steps.erase(steps.begin(),
              steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 10));
  return steps;
}

std::int64_t classes_of(const RunRecord& r) {
  const std::int64_t said = whole_in(part(r.config, "model"), "classes");
  if (said > 0) return said;
  const auto at = r.data.find("classes");
  return at != r.data.end() && at->is_array()
             ? static_cast<std::int64_t>(at->size())
             : whole_in(r.data, "classes");
}

std::optional<LateNoise> late_noise_of(const RunRecord& r) {
  const Json late = r.summary.value("noise_scale", Json::object())
                        .value("second_half", Json::object());
  if (!late.value("resolved", false)) return std::nullopt;
  return LateNoise{late.at("value"), late.at("low90"), late.at("high90")};
}

void forget_times(RunFacts& run, const std::string& why) {
  const double none = std::nan("");
  run.not_timed = why;
  run.step_s.clear();
  run.step = {.value = none, .low = none, .high = none};
  run.pieces = {none, none, none, none, none, none, none, none};
  run.imbalance = run.bus_bytes_per_s = run.peak_bus_bytes_per_s = none;
  for (PayloadFlow& flow : run.payloads) flow.seconds = none;
  run.epoch_s = run.epoch_without_loading_s = none;
  run.epoch_from_steps = false;
  for (EpochSample& epoch : run.epochs)
    epoch.seconds = epoch.seconds_with_loading = none;
  run.summary.erase("samples_per_s");
  run.notes.push_back(why);
}

double RunFacts::steps_per_epoch() const {
  if (samples_per_epoch <= 0 || global_batch <= 0) return 0;
  return std::ceil(static_cast<double>(samples_per_epoch) /
                   static_cast<double>(global_batch));
}

RunFacts read_facts(const fs::path& path, const Resampling& how) {
  RunFacts f{.path = path, .name = path.filename().string(), .status = {}};
  if (fs::exists(path / "record.json")) {
    const RunRecord record = read_record(path / "record.json");
    take_record(f, record);
    f.summary = record.summary;
  } else {
    f.status = "half written";
    f.reason = "no record.json";
    take_config(f, to_json(RunFolder::open(path).config()));
  }
  take_machine(f);
  take_steps(f, how);
  take_summary(f, f.summary);
  take_messages(f);
  take_epochs(f);
  if (f.step.count == 1) f.notes.push_back("one timed step: no interval");
  return f;
}

}  // namespace lockstep
