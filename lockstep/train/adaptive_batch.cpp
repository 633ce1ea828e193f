// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/adaptive_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/comm/agree.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/train/noise_log.h"

namespace lockstep {
namespace {

// Of the device's memory; the rest is for what was not seen yet.
constexpr double kGrownMemory = 0.85;
constexpr std::int64_t kMostGrowth = 32;  // of the first batch, without a cap
// Noise is measured as often as costs this share of the time.
constexpr double kNoiseCost = 0.01;
constexpr std::int64_t kLeastNoiseEvery = 10, kMostNoiseEvery = 1000;

// LibTorch's search for the fastest kernels takes two seconds for a new size of
// ResNet-18 on an H200: not for the end of a run.
constexpr double kSearchPaysFrom_s = 100;
constexpr double kUnknown_s = std::numeric_limits<double>::infinity();

// All that ranks must share of a decision.
struct Choice {
  StepSize size;
  double gain = 1;
  std::int64_t noise_every = 0;
};

// Samples of a rank in one pass that memory should hold: what is there besides
// parameters and their like grows with the samples.
std::int64_t fits_in_memory(const Session& s) {
  const auto memory = s.device.info().value("memory_bytes", 0.0);
  const auto peak = static_cast<double>(s.device.peak_memory_bytes());
  const auto now = static_cast<double>(per_pass(s.batch.size, s.batch.ranks));
  const double fixed = static_cast<double>(s.params.values().nbytes()) *
                       (keeps_square(s.config.optim.kind) ? 4 : 3);
  const double each = std::max(peak - fixed, peak / 10) / now;
  return std::max(
      per_pass(s.batch.size, s.batch.ranks),
      static_cast<std::int64_t>((kGrownMemory * memory - fixed) / each));
}

BatchLimits limits_of(const Session& s) {
  const BatchConfig& b = s.config.batch;
  const std::int64_t first = global_batch(s.config);
  const std::int64_t most =
      b.max_global > 0 ? b.max_global : kMostGrowth * first;
  return {
      .least = std::min(first, static_cast<std::int64_t>(base_batch(s.config))),
      .most = std::min(std::max(most, first), s.data.train->size()),
      .most_per_pass = b.max_per_pass > 0 ? b.max_per_pass : fits_in_memory(s),
      .ranks = s.config.comm.ranks,
      .min_gain = b.min_gain};
}

// As often as the settings say, else as costs kNoiseCost; the first samples,
// which every decision waits for, sooner.
std::int64_t noise_every(const Session& s) {
  if (s.config.batch.noise_every > 0) return s.config.batch.noise_every;
  const double cost = noise_cost(s.batch);
  if (!std::isfinite(cost) || s.batch.measured_s.size() < 3 ||
      s.batch.noise.num_samples() < kLeastNoiseSamples)
    return s.batch.noise_every;
  return std::clamp(
      static_cast<std::int64_t>(std::ceil(std::max(cost, 0.0) / kNoiseCost)),
      kLeastNoiseEvery, kMostNoiseEvery);
}

double gain_of(const Session& s, const StepSize& size) {
  if (s.batch.noise.num_samples() < kLeastNoiseSamples) return s.batch.gain;
  const double base = base_batch(s.config);
  return adascale_gain_of_noise(
      std::min(s.batch.noise.noise_scale(), kMostNoiseScale * base), base,
      static_cast<double>(size.global));
}

Json decide_alone(const Session& s) {
  BatchEvidence evidence{.pass_times = {},
                         .noise_samples = s.batch.noise.num_samples(),
                         .noise_scale = s.batch.noise.noise_scale(),
                         .base_batch = base_batch(s.config)};
  for (const auto& [samples, times] : s.batch.pass_s)
    evidence.pass_times.push_back(
        {static_cast<double>(samples), median_of(times)});
  // A first step may have measured, and nothing else.
  if (evidence.pass_times.empty()) evidence.noise_samples = 0;
  const BatchDecision d = decide_batch(s.batch.size, evidence, limits_of(s));
  return {{"step", s.at.step},
          {"epoch", s.at.epoch},
          {"global_batch", d.size.global},
          {"passes", d.size.passes},
          {"gain", gain_of(s, d.size)},
          {"noise_every", noise_every(s)},
          {"noise_scale", s.batch.noise.noise_scale()},
          {"predicted_gain", d.predicted_gain},
          {"changed", d.size != s.batch.size},
          {"reason", d.reason}};
}

// Of training, at the pace of the size used last.
double expected_left_s(const Session& s) {
  const auto times = s.batch.pass_s.find(per_pass(s.batch.size, s.batch.ranks));
  if (times == s.batch.pass_s.end()) return kUnknown_s;
  const double step_s =
      median_of(times->second) * static_cast<double>(s.batch.size.passes);
  if (s.config.train.steps > 0)
    return static_cast<double>(s.config.train.steps - s.at.step) * step_s;
  const double all = static_cast<double>(s.config.train.epochs) *
                     static_cast<double>(s.data.train->size());
  return (all - s.batch.progress) / progress_of(s, s.batch.size.global) *
         step_s;
}

std::vector<Json> read_decisions(const std::string& file) {
  std::istringstream lines(read_file(file, Fault::config));
  std::vector<Json> out;
  std::int64_t number = 0;
  try {
    for (std::string line; std::getline(lines, line);) {
      ++number;
      out.push_back(Json::parse(line));
      for (const char* name :
           {"step", "global_batch", "passes", "gain", "noise_every"})
        if (!out.back().at(name).is_number())
          throw Error(Fault::config, name, "is not a number");
    }
  } catch (const std::exception& e) {
    throw Error(Fault::config, fmt::format("{}:{}", file, number),
                fmt::format("is not a decision: {}", e.what()),
                "give the decisions.jsonl of an adaptive run");
  }
  return out;
}

Json repeat(const Session& s) {
  const std::string& file = s.config.batch.decisions;
  for (Json& d : read_decisions(file))
    if (d.at("step") == s.at.step) {
      d["replayed"] = true;
      return d;
    }
  throw Error(Fault::config, file,
              fmt::format("has no decision for step {}", s.at.step),
              "a replay keeps the steps, epochs and batch.decide_every of the "
              "run it repeats");
}

Choice share(Session& s, const Json& decision) {
  Choice c;
  if (s.group.rank() == 0) {
    c.size.global = decision.at("global_batch").get<std::int64_t>();
    c.size.passes = decision.at("passes").get<std::int64_t>();
    c.gain = decision.at("gain").get<double>();
    c.noise_every = decision.at("noise_every").get<std::int64_t>();
  }
  c.size = {agree(s.group, c.size.global), agree(s.group, c.size.passes)};
  c.gain = agree(s.group, c.gain);
  c.noise_every = agree(s.group, c.noise_every);
  return c;
}

}  // namespace

bool decision_due(const Session& s) {
  return s.config.batch.mode == BatchMode::adaptive && s.at.step > 0 &&
         s.at.step % s.config.batch.decide_every == 0 &&
         s.batch.decided != s.at.step;
}

bool decide(Session& s) {
  Json decision;
  if (s.group.rank() == 0)
    decision = s.config.batch.decisions.empty() ? decide_alone(s) : repeat(s);
  const Choice choice = share(s, decision);
  const bool changed = choice.size != s.batch.size;
  s.batch.gain = choice.gain;
  s.batch.decided = s.at.step;
  ++s.batch.num_decisions, s.batch.num_changes += changed;
  s.batch.noise_every = choice.noise_every;
  if (changed) {
    s.batch.search = expected_left_s(s) > kSearchPaysFrom_s;
    s.batch.size = choice.size, s.batch.since = s.at.step;
    s.batch.measured_s.clear();
  }
  if (s.folder != nullptr)
    s.folder->append_lines("decisions.jsonl", "", decision.dump() + "\n");
  if (changed && s.group.rank() == 0)
    fmt::print(stderr, "step {}: {}\n", s.at.step,
               decision.value("reason", std::string()));
  return changed;
}

double progress_of(const Session& s, std::int64_t samples) {
  const auto all = static_cast<double>(samples);
  if (s.config.batch.mode != BatchMode::adaptive) return all;
  const double scale =
      static_cast<double>(s.batch.size.global) / base_batch(s.config);
  return all * (s.batch.gain / scale);
}

void check_decisions(const RunConfig& config) {
  if (!config.batch.decisions.empty()) read_decisions(config.batch.decisions);
}

Json adaptive_json(const Session& s) {
  if (s.config.batch.mode != BatchMode::adaptive) return nullptr;
  return {{"decisions", s.batch.num_decisions},
          {"changes", s.batch.num_changes},
          {"first_global_batch", global_batch(s.config)},
          {"last_global_batch", s.batch.size.global},
          {"last_gain", s.batch.gain},
          {"progress_epochs",
           s.batch.progress / static_cast<double>(s.data.train->size())}};
}

}  // namespace lockstep
