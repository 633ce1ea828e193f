// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/noise_log.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>

#include "lockstep/comm/gather_rows.h"
#include "lockstep/core/csv.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file.h"

namespace lockstep {
namespace {

constexpr const char* kHead =
    "step,global_batch,parts,part_batch,part_sq,whole_sq,gradient_sq,trace,"
    "noise_scale";

// After a change of size libraries look for their best kernels again.
constexpr std::int64_t kWarmSteps = 3;

// One part of one step, as ranks send it.
struct Row {
  std::int64_t step = 0, samples = 0;
  double part_sq = 0, whole_sq = 0;
  std::int64_t shared = 0;
};

// A step's parts together. The mean of 1/m over parts, so that the estimate is
// unbiased for parts of different sizes too.
struct StepNorms {
  std::int64_t parts = 0, samples = 0;
  double part_sq = 0, inverse = 0, whole_sq = 0;

  void add(const Row& row) {
    if (row.shared || parts == 0) whole_sq += row.whole_sq;
    ++parts, samples += row.samples;
    part_sq += row.part_sq;
    inverse += 1 / static_cast<double>(row.samples);
  }
  TwoBatchNorms norms() const {
    const auto n = static_cast<double>(parts);
    return {.small_sq = part_sq / n,
            .small_batch = n / inverse,
            .big_sq = whole_sq,
            .big_batch = static_cast<double>(samples)};
  }
};

std::string line_of(std::int64_t step, const StepNorms& s,
                    const NoiseSample& sample, double noise_scale) {
  const TwoBatchNorms n = s.norms();
  return fmt::format("{},{},{},{},{},{},{},{},{}\n", step, s.samples, s.parts,
                     n.small_batch, n.small_sq, n.big_sq, sample.gradient_sq,
                     sample.trace, noise_scale);
}

void keep(StepTimes& times, double seconds) {
  if (times.size() == kKeptTimes) times.erase(times.begin());
  times.push_back(seconds);
}

}  // namespace

bool measures_noise(const Session& s, std::int64_t samples) {
  const std::int64_t every = s.batch.noise_every;
  return every > 0 && s.at.step > 0 && s.at.step % every == 0 &&
         samples == s.batch.size.global && samples >= 2 * s.config.comm.ranks;
}

std::vector<Batch> in_halves(std::vector<Batch> passes) {
  if (passes.size() != 1) return passes;
  const Batch whole = std::move(passes.front());
  const std::int64_t half = whole.samples - whole.samples / 2;
  passes = {whole, whole};
  const auto cut = [&](Batch& part, std::int64_t begin, std::int64_t end) {
    part.inputs = whole.inputs.slice(0, begin, end);
    part.targets = whole.targets.slice(0, begin, end);
    part.samples = end - begin;
  };
  cut(passes[0], 0, half), cut(passes[1], half, whole.samples);
  return passes;
}

GradNorms* NoiseLog::next(std::int64_t step) {
  measured_.push_back({.step = step, .norms = {}});
  return &measured_.back().norms;
}

void NoiseLog::drain(Session& s) {
  std::vector<Row> mine;
  for (const Measured& m : measured_)
    for (const GradNorms::Part& part : m.norms.parts())
      mine.push_back({.step = m.step,
                      .samples = part.samples,
                      .part_sq = part.sq.item<double>(),
                      .whole_sq = m.norms.whole_sq().item<double>(),
                      .shared = m.norms.shared()});
  measured_.clear();
  std::map<std::int64_t, StepNorms> steps;
  for (const Row& row : gather_rows<Row>(s.group, mine))
    steps[row.step].add(row);
  const double base = base_batch(s.config);
  std::string lines;
  for (const auto& [step, norms] : steps) {
    if (norms.parts < 2) continue;
    const NoiseSample sample = two_batch_estimate(norms.norms());
    const double worth = static_cast<double>(norms.samples) *
                         static_cast<double>(s.batch.noise_every);
    s.batch.noise.add(sample, NoiseAverage::default_memory(worth, base));
    lines += line_of(step, norms, sample, s.batch.noise.noise_scale());
  }
  if (s.folder != nullptr) s.folder->append_lines("noise.csv", kHead, lines);
}

void keep_times(BatchState& b, std::span<const StepSample> steps) {
  const std::int64_t whole = (b.size.global + b.ranks - 1) / b.ranks;
  for (const StepSample& step : steps) {
    if (step.rank != 0 || step.samples != whole ||
        step.step < b.since + kWarmSteps)
      continue;
    if (b.noise_every > 0 && step.step % b.noise_every == 0)
      keep(b.measured_s, step.step_s);
    else
      keep(b.pass_s[per_pass(b.size, b.ranks)],
           step.step_s / static_cast<double>(b.size.passes));
  }
}

void check_noise(const RunConfig& c) {
  if (c.batch.mode != BatchMode::adaptive && c.batch.noise_every == 0) return;
  const StrategyKind kind = resolved(c.strategy.kind, c.comm.ranks);
  if (kind != StrategyKind::single && kind != StrategyKind::ddp &&
      kind != StrategyKind::sharded)
    throw Error(Fault::config, "batch.noise_every",
                "noise is measured where every rank's gradient is averaged "
                "whole: single, ddp and sharded",
                "choose one of them as strategy.kind, or batch.mode=fixed");
  if (c.strategy.hook != HookKind::none)
    throw Error(Fault::config, "strategy.hook",
                "changes gradients before they are averaged: the noise of "
                "what arrives is not theirs",
                "set strategy.hook=none to measure noise");
  if (c.strategy.sync_batchnorm && c.comm.ranks > 1)
    throw Error(Fault::config, "strategy.sync_batchnorm",
                "ties the ranks together: their gradients are no longer "
                "independent, as the estimate needs",
                "measure noise with strategy.sync_batchnorm=false");
  if (c.batch.mode == BatchMode::adaptive && !c.measure.record)
    throw Error(Fault::config, "measure.record",
                "an adaptive batch is chosen from step times",
                "set measure.record=true");
}

Json noise_json(const Session& s) {
  if (s.batch.noise_every == 0 || s.folder == nullptr) return nullptr;
  Json out{{"every_steps", s.batch.noise_every},
           {"samples", s.batch.noise.num_samples()},
           {"dropped", s.batch.noise.num_dropped()},
           {"smoothed", s.batch.noise.noise_scale()},
           {"cost_of_a_measured_step", noise_cost(s.batch)},
           {"cost_share",
            noise_cost(s.batch) / static_cast<double>(s.batch.noise_every)}};
  const std::filesystem::path file = s.folder->path() / "noise.csv";
  if (!std::filesystem::exists(file)) return out;
  const Csv csv =
      parse_csv(read_file(file, Fault::store), file.string(), Fault::store);
  const std::size_t gradient = csv.required("gradient_sq", Fault::store);
  const std::size_t trace = csv.required("trace", Fault::store);
  std::vector<NoiseSample> samples;
  // The second half: noise grows as training goes on.
  for (std::size_t i = csv.rows.size() / 2; i < csv.rows.size(); ++i)
    samples.push_back({std::stod(csv.rows[i].cells.at(gradient)),
                       std::stod(csv.rows[i].cells.at(trace))});
  if (samples.size() < 10) return out;
  const NoiseScale scale = noise_scale(samples);
  out["second_half"] = Json{{"value", scale.value},
                            {"low90", scale.low},
                            {"high90", scale.high},
                            {"resolved", scale.resolved}};
  return out;
}

}  // namespace lockstep
