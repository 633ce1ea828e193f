// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/scaling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

// Samples a second as an estimate: the batch over the step.
Estimate throughput(const StudyPoint& point) {
  return ratio({.value = static_cast<double>(point.global_batch),
                .count = point.step.count,
                .blocks = point.step.blocks,
                .log_draws = std::vector<double>(
                    point.step.log_draws.size(),
                    std::log(static_cast<double>(point.global_batch)))},
               point.step);
}

Estimate divided(Estimate estimate, double by) {
  estimate.value /= by, estimate.low /= by, estimate.high /= by;
  for (double& draw : estimate.log_draws) draw -= std::log(by);
  return estimate;
}

using Key = std::tuple<std::string, std::string, std::string, std::string,
                       std::string, int, std::int64_t>;

// Who may stand in one series: all but the ranks.
Key series_key(const StudyPoint& p, const std::string& strategy, Origin origin,
               ScalingKind kind) {
  return {p.model,
          p.hardware,
          p.device,
          p.arm,
          strategy,
          static_cast<int>(origin),
          kind == ScalingKind::weak ? p.per_rank : p.global_batch};
}

bool is_base(const StudyPoint& p) {
  return p.ranks == 1 && p.origin == Origin::measured;
}

// The strategies and origins a one-rank point is the base of.
using Lines = std::set<std::pair<std::string, Origin>>;

Lines lines_of(const Study& study) {
  Lines lines;
  for (const StudyPoint& p : study.points)
    if (p.drawn() && p.ranks > 1) lines.insert({p.strategy, p.origin});
  return lines;
}

ScalingSeries series_of(const Study& study, ScalingKind kind,
                        std::vector<std::size_t> points) {
  const auto& all = study.points;
  // At one rank `single` and the strategy itself may both stand: the
  // strategy's own run is the better base.
  std::ranges::sort(points, {}, [&](std::size_t i) {
    return std::make_tuple(all[i].ranks, all[i].strategy == "single");
  });
  const auto twice = std::ranges::unique(
      points, {}, [&](std::size_t i) { return all[i].ranks; });
  points.erase(twice.begin(), twice.end());
  const StudyPoint &base = all[points.front()], &top = all[points.back()];
  ScalingSeries series{
      .kind = kind,
      .model = base.model,
      .strategy = top.strategy,
      .hardware = base.hardware,
      .arm = base.arm,
      .origin = top.origin,
      .batch = kind == ScalingKind::weak ? base.per_rank : base.global_batch,
      .steps = {}};
  const Estimate one = throughput(base);
  for (const std::size_t i : points) {
    ScalingStep step{.point = i, .ranks = all[i].ranks};
    step.speedup = ratio(throughput(all[i]), one);
    step.efficiency =
        divided(step.speedup, static_cast<double>(step.ranks) /
                                  static_cast<double>(base.ranks));
    step.comm_by_subtraction_s = kind == ScalingKind::weak
                                     ? all[i].step.value - base.step.value
                                     : std::nan("");
    series.steps.push_back(std::move(step));
  }
  return series;
}

}  // namespace

std::vector<ScalingSeries> scaling_of(const Study& study) {
  const Lines lines = lines_of(study);
  std::vector<ScalingSeries> out;
  for (const ScalingKind kind : {ScalingKind::weak, ScalingKind::strong}) {
    std::map<Key, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < study.points.size(); ++i) {
      const StudyPoint& p = study.points[i];
      if (!p.drawn()) continue;
      for (const auto& [strategy, origin] : lines)
        if ((p.strategy == strategy && p.origin == origin) ||
            (is_base(p) && (p.strategy == strategy || p.strategy == "single")))
          groups[series_key(p, strategy, origin, kind)].push_back(i);
    }
    for (auto& [key, points] : groups) {
      ScalingSeries series = series_of(study, kind, std::move(points));
      // A prediction is for one device and N: from 3 to 4 it says little.
      const bool from_one = series.steps.front().ranks == 1;
      if (series.steps.size() >= 2 &&
          (from_one || series.origin != Origin::predicted))
        out.push_back(std::move(series));
    }
  }
  return out;
}

}  // namespace lockstep
