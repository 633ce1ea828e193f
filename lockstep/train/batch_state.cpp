// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/batch_state.h"

#include <algorithm>
#include <cmath>

#include "lockstep/train/session.h"

namespace lockstep {
namespace {

// Adaptive runs begin with this; then as often as costs one per cent.
constexpr std::int64_t kFirstNoiseEvery = 20;

Json average_json(const NoiseAverage& average) {
  const NoiseAverage::State s = average.state();
  return {{"gradient_sq", s.gradient_sq},
          {"trace", s.trace},
          {"weight", s.weight},
          {"num_samples", s.num_samples},
          {"num_dropped", s.num_dropped}};
}

NoiseAverage::State average_of(const Json& j) {
  return {.gradient_sq = j.at("gradient_sq"),
          .trace = j.at("trace"),
          .weight = j.at("weight"),
          .num_samples = j.at("num_samples"),
          .num_dropped = j.at("num_dropped")};
}

void save(const BatchState& b, StateWriter& w) {
  w.put("global", Json(b.size.global));
  w.put("passes", Json(b.size.passes));
  w.put("since", Json(b.since));
  w.put("gain", Json(b.gain));
  w.put("progress", Json(b.progress));
  w.put("noise_every", Json(b.noise_every));
  w.put("noise", average_json(b.noise));
  Json times = Json::array();
  for (const auto& [samples, seconds] : b.pass_s)
    times.push_back({{"samples", samples}, {"seconds", seconds}});
  w.put("pass_s", times);
  w.put("measured_s", Json(b.measured_s));
  w.put("num_decisions", Json(b.num_decisions));
  w.put("num_changes", Json(b.num_changes));
  w.put("pilot", b.pilot);
}

void load(BatchState& b, const StateReader& r) {
  b.size = {r.value("global"), r.value("passes")};
  b.since = r.value("since");
  b.gain = r.value("gain"), b.progress = r.value("progress");
  b.noise_every = r.value("noise_every");
  b.noise.restore(average_of(r.value("noise")));
  b.pass_s.clear();
  for (const Json& row : r.value("pass_s"))
    b.pass_s[row.at("samples").get<std::int64_t>()] =
        row.at("seconds").get<StepTimes>();
  b.measured_s = r.value("measured_s").get<StepTimes>();
  b.num_decisions = r.value("num_decisions");
  b.num_changes = r.value("num_changes");
  b.pilot = r.value("pilot");
}

}  // namespace

BatchState first_batch(const RunConfig& config) {
  BatchState out;
  out.size = {global_batch(config), config.batch.accumulate};
  out.ranks = config.comm.ranks;
  out.noise_every = config.batch.noise_every;
  if (config.batch.mode == BatchMode::adaptive && out.noise_every == 0)
    out.noise_every = kFirstNoiseEvery;
  return out;
}

double base_batch(const RunConfig& config) {
  const std::int64_t base = config.optim.base_batch;
  return static_cast<double>(base > 0 ? base : global_batch(config));
}

std::int64_t per_pass(const StepSize& size, std::int64_t ranks) {
  const std::int64_t parts = ranks * size.passes;
  return (size.global + parts - 1) / parts;
}

double median_of(StepTimes times) {
  if (times.empty()) return std::nan("");
  const auto middle =
      times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

double noise_cost(const BatchState& b) {
  const auto plain = b.pass_s.find(per_pass(b.size, b.ranks));
  if (plain == b.pass_s.end()) return std::nan("");
  const double step_s =
      median_of(plain->second) * static_cast<double>(b.size.passes);
  return median_of(b.measured_s) / step_s - 1;
}

StatePart batch_part(BatchState& state) {
  // A run of another number of ranks keeps its global batch.
  return {.name = "batch",
          .save = [&state](StateWriter& w) { save(state, w); },
          .load = [&state](const StateReader& r) { load(state, r); }};
}

}  // namespace lockstep
