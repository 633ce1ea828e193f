// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/config/model_name.h"
#include "lockstep/core/error.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/predict/predictor.h"

namespace lockstep {
namespace {

EpochRun epoch_run(const RunConfig& c, double epoch_s) {
  return {.model = model_name(c.model),
          .param_bytes = static_cast<double>(
              plan_work(with_own_sizes(c.model)).param_bytes()),
          .gpus = static_cast<int>(c.comm.ranks),
          .batch = static_cast<double>(global_batch(c)),
          .epoch_s = epoch_s};
}

// One rank exchanges nothing, whatever its strategy is called.
bool belongs(const RunConfig& c, const std::string& strategy) {
  return c.comm.ranks == 1 || word(c, "strategy.kind") == strategy;
}

// Stands in for a machine nobody described: one core of a present-day server
// as a device, its memory as the link. Times are rough; memory is counted.
Cluster cpu_guess(int ranks) {
  Link link{.name = "shared memory",
            .kind = LinkKind::memory,
            .hop = Hop::memory,
            .latency_s = 2e-5,
            .spread = 0.7,
            .beyond = {},
            .source = "a guess"};
  link.curves.push_back({.ranks = 2,
                         .nodes = 1,
                         .op = CurveOp::all_reduce,
                         .points = {{1e3, 2e-5}, {1e6, 5e-4}, {1e8, 4e-2}}});
  tidy(link);
  return {.name = "a guess at this machine",
          .nodes = 1,
          .devices_per_node = ranks,
          .device = {.name = "CPU core",
                     .fp32_flops = 60e9,
                     .memory_bytes = std::int64_t{16} << 30,
                     .memory_bytes_per_s = 15e9,
                     .host_bytes_per_s = 15e9,
                     .source = "a guess"},
          .inside = link,
          .between = std::nullopt};
}

Cluster cluster_for(const Point& point, const std::string& hardware) {
  if (!hardware.empty()) return find_hardware(hardware).cluster;
  if (point.config.train.device != "cpu")
    throw Error(Fault::config, "study.hardware",
                "which GPUs and links? nothing was measured yet",
                "set it, or give --hardware NAME|FILE; `lockstep hardware "
                "list` names them");
  return cpu_guess(static_cast<int>(point.config.comm.ranks));
}

// Steps of one rank that differ from the point in batch, ranks and strategy
// alone; by batch, the first of a kind. A step of several passes, or of batches
// that change, says nothing of a pass at its batch.
std::vector<SeenStep> steps_alone(const RunConfig& wanted,
                                  std::span<const MeasuredPoint> measured) {
  std::map<std::int64_t, double> by_batch;
  for (const MeasuredPoint& m : measured) {
    RunConfig like = m.point->config;
    if (like.comm.ranks > 1 || like.batch.accumulate > 1 ||
        like.batch.mode != BatchMode::fixed)
      continue;
    const std::int64_t batch = global_batch(like);
    like.batch = wanted.batch, like.comm = wanted.comm;
    like.strategy = wanted.strategy, like.optim.lr = wanted.optim.lr;
    like.train.seed = wanted.train.seed;
    if (to_json(like) == to_json(wanted)) by_batch.emplace(batch, m.step_s);
  }
  std::vector<SeenStep> out;
  for (const auto& [batch, step_s] : by_batch) out.push_back({batch, step_s});
  return out;
}

// What only the data knows: a folder of images is counted when it is read.
std::int64_t counted_samples(const RunConfig& wanted,
                             std::span<const MeasuredPoint> measured) {
  for (const MeasuredPoint& m : measured)
    if (m.epoch_samples > 0 &&
        to_json(m.point->config)["data"] == to_json(wanted)["data"])
      return static_cast<std::int64_t>(m.epoch_samples);
  return 0;
}

}  // namespace

Json to_json(const PointForecast& f) {
  const auto number = [](double v) {
    return std::isfinite(v) ? Json(v) : Json(nullptr);
  };
  return {
      {"from", f.from},
      {"step_s", number(f.step_s)},
      {"epoch_s", number(f.epoch_s)},
      {"lo90_s", number(f.lo90_s)},
      {"hi90_s", number(f.hi90_s)},
      {"speedup", number(f.speedup)},
      {"efficiency", number(f.efficiency)},
      {"verdict", word(f.verdict)},
      {"cause", word(f.cause)},
      {"memory_bytes", f.memory_known ? Json(f.memory_bytes) : Json(nullptr)},
      {"fits", f.memory_known ? Json(f.fits) : Json(nullptr)}};
}

StudyFit::StudyFit(std::span<const MeasuredPoint> measured) {
  std::set<std::string> strategies;
  for (const MeasuredPoint& m : measured)
    if (m.point->config.comm.ranks > 1)
      strategies.insert(word(m.point->config, "strategy.kind"));
  for (const std::string& strategy : strategies) {
    std::vector<EpochRun> runs;
    std::set<double> samples;
    for (const MeasuredPoint& m : measured)
      if (belongs(m.point->config, strategy)) {
        runs.push_back(epoch_run(m.point->config, m.epoch_s));
        samples.insert(m.epoch_samples);
      }
    // Epochs of different data sets do not compare.
    if (runs.size() >= 3 && samples.size() == 1)
      fits_[strategy] = calibrate(runs, *samples.begin());
  }
}

std::optional<PointForecast> StudyFit::of(const Point& point) const {
  const auto found = fits_.find(word(point.config, "strategy.kind"));
  if (found == fits_.end()) return std::nullopt;
  const SystemFit& fit = found->second;
  const EpochRun run = epoch_run(point.config, 0);
  const auto counts = fit.measured_gpus.find(run.model);
  const auto has = [&](auto test) {
    return counts != fit.measured_gpus.end() &&
           std::ranges::any_of(counts->second, test);
  };
  if (!has([](int n) { return n == 1; }) || !has([](int n) { return n > 1; }))
    return std::nullopt;
  const EpochForecast f = forecast(fit, run);
  PointForecast out{.from = "this study's measured points",
                    .epoch_s = f.epoch_s,
                    .lo90_s = f.low_s,
                    .hi90_s = f.high_s,
                    .speedup = f.speedup,
                    .efficiency = f.speedup / run.gpus,
                    .verdict = f.verdict,
                    .cause = f.cause};
  out.step_s = f.epoch_s / std::ceil(fit.epoch_samples / run.batch);
  return out;
}

PointForecast what_if(const Point& point, const std::string& hardware,
                      std::span<const MeasuredPoint> measured) {
  const Cluster cluster = cluster_for(point, hardware);
  const Subject subject = subject_of(point.config);
  Question q = subject.asked;
  if (q.ranks == 1) q.method = Method::single;
  if (q.epoch_samples == 0)
    q.epoch_samples = counted_samples(point.config, measured);
  const std::vector<SeenStep> seen = steps_alone(point.config, measured);
  const Prediction p = Predictor(subject, cluster, std::nullopt, seen)(q);
  const bool epoch = std::isfinite(p.epoch_s);
  const double steps = epoch ? p.epoch_s / p.time.step_s : 1;
  return {.from = fmt::format("{}{}",
                              seen.size() >= 2 ? "one device as measured here, "
                                                 "the others of "
                                               : "",
                              hardware.empty() ? cluster.name : hardware),
          .step_s = p.time.step_s,
          .epoch_s = p.epoch_s,
          .lo90_s = p.step_s.lo90 * steps,
          .hi90_s = p.step_s.hi90 * steps,
          .speedup = p.speedup,
          .efficiency = p.efficiency,
          .verdict = p.verdict,
          .cause = p.cause,
          .memory_known = p.memory.known,
          .fits = p.memory.fits(),
          .memory_bytes = p.memory.need_bytes};
}

}  // namespace lockstep
