// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/saturation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

constexpr std::size_t kFewestBatches = 4;
constexpr int kRefits = 200;

struct LogPoint {
  double x, y;
};

struct Bend {
  double at = 0, slope = 0, floor = 0, squares = 0;
};

// For a bend at `at`, floor and slope follow by least squares.
Bend lines_at(std::span<const LogPoint> points, double at) {
  double n = 0, su = 0, suu = 0, sy = 0, suy = 0;
  for (const LogPoint& p : points) {
    const double u = std::max(0.0, at - p.x);
    n += 1, su += u, suu += u * u, sy += p.y, suy += u * p.y;
  }
  Bend bend{.at = at};
  const double det = n * suu - su * su;
  const double rise = det > 1e-12 ? (n * suy - su * sy) / det : 0;
  bend.slope = -std::max(0.0, rise);
  bend.floor = (sy + bend.slope * su) / n;
  for (const LogPoint& p : points) {
    const double fit = bend.floor - bend.slope * std::max(0.0, at - p.x);
    bend.squares += (p.y - fit) * (p.y - fit);
  }
  return bend;
}

// The best of a fine grid: least squares has several minima here.
Bend best_bend(std::span<const LogPoint> points) {
  constexpr int kGrid = 200;
  const double low = points.front().x, high = points.back().x;
  Bend best = lines_at(points, low);
  for (int i = 1; i <= kGrid; ++i) {
    const Bend bend = lines_at(points, low + (high - low) * i / kGrid);
    if (bend.squares < best.squares) best = bend;
  }
  return best;
}

double fitted(const Bend& bend, double x) {
  return bend.floor - bend.slope * std::max(0.0, bend.at - x);
}

// Refits on the lines plus resampled misses plus each point's own noise.
std::vector<double> bends_drawn(std::span<const BatchTime> times,
                                std::span<const LogPoint> points,
                                const Bend& best) {
  const auto n = static_cast<double>(points.size());
  const double widen = std::sqrt(n / std::max(1.0, n - 3));
  std::mt19937_64 random(1);
  std::vector<double> out;
  for (int r = 0; r < kRefits; ++r) {
    std::vector<LogPoint> drawn(points.begin(), points.end());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const LogPoint& miss = points[draw_below(random, points.size())];
      drawn[i].y =
          fitted(best, drawn[i].x) + widen * (miss.y - fitted(best, miss.x));
      const auto& draws = times[i].epoch_s.log_draws;
      if (!draws.empty())
        drawn[i].y += draws[draw_below(random, draws.size())] - points[i].y;
    }
    out.push_back(best_bend(drawn).at);
  }
  return out;
}

std::string note_of(const Bend& best, std::span<const LogPoint> points) {
  const double reach = points.back().x - points.front().x;
  if (best.slope > -0.05) return "time does not fall with the batch here";
  if (best.at > points.back().x - 0.02 * reach)
    return "not reached: time still falls at the largest batch";
  if (best.at < points[1].x)
    return "at or below the second smallest batch: smaller ones would tell";
  return "";
}

}  // namespace

Saturation saturation_of(std::span<const BatchTime> given) {
  std::vector<BatchTime> times(given.begin(), given.end());
  std::erase_if(times, [](const BatchTime& t) {
    return !(t.epoch_s.value > 0 && t.per_rank > 0);
  });
  std::ranges::sort(times, {}, &BatchTime::per_rank);
  Saturation out;
  if (times.size() < kFewestBatches) {
    out.per_rank = out.low = out.high = std::nan("");
    out.note = "fewer than four batch sizes";
    return out;
  }
  std::vector<LogPoint> points;
  for (const BatchTime& t : times)
    points.push_back({std::log(t.per_rank), std::log(t.epoch_s.value)});
  const Bend best = best_bend(points);
  const std::vector<double> drawn = bends_drawn(times, points, best);
  out.per_rank = std::exp(best.at);
  out.low = std::exp(quantile(drawn, 0.025));
  out.high = std::exp(quantile(drawn, 0.975));
  out.slope = best.slope, out.floor_s = std::exp(best.floor);
  out.rms = std::sqrt(best.squares / static_cast<double>(points.size()));
  out.note = note_of(best, points);
  return out;
}

std::vector<SaturationRow> saturations_of(const Study& study) {
  std::map<std::tuple<std::string, std::string, std::string, std::string,
                      std::int64_t, Origin>,
           std::vector<BatchTime>>
      lines;
  for (const StudyPoint& p : study.points) {
    if (!p.drawn() || !(p.epoch_s > 0)) continue;
    Estimate epoch = p.step;
    for (double& draw : epoch.log_draws)
      draw += std::log(p.epoch_s / p.step.value);
    epoch.value = p.epoch_s;
    lines[{p.model, p.strategy, p.hardware, p.arm, p.ranks, p.origin}]
        .push_back({static_cast<double>(p.per_rank), std::move(epoch)});
  }
  std::vector<SaturationRow> out;
  for (const auto& [key, times] : lines) {
    if (times.size() < kFewestBatches) continue;
    const auto& [model, strategy, hardware, arm, ranks, origin] = key;
    out.push_back(
        {model, strategy, hardware, arm, ranks, origin, saturation_of(times)});
  }
  return out;
}

}  // namespace lockstep
