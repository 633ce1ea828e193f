// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/laws.h"

#include <ceres/ceres.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostRefits = 200;

template <class T>
T speedup(Law law, const T& serial, const T& coherence, double n) {
  switch (law) {
    case Law::amdahl:
      return T(1) / (serial + (T(1) - serial) / n);
    case Law::gustafson:
      return T(n) - serial * (n - 1);
    case Law::usl:
      break;
  }
  return T(n) / (T(1) + serial * (n - 1) + coherence * (n * (n - 1)));
}

template <int kUnknowns>
struct Residual {
  Law law;
  double ranks, log_speedup, weight;
  template <class T>
  bool operator()(const T* unknown, T* out) const {
    using std::log;
    T coherence(0);
    if constexpr (kUnknowns == 2) coherence = unknown[1];
    out[0] = weight *
             (log(speedup(law, unknown[0], coherence, ranks)) - log_speedup);
    return true;
  }
};

struct Known {
  double ranks, log_speedup, weight;
};

// Lengths of cost functions are fixed by type: one for each number of unknowns.
template <int kUnknowns>
LawValues solve_as(Law law, std::span<const Known> points) {
  std::array<double, kUnknowns> unknown = {};
  unknown[0] = 0.05;
  if constexpr (kUnknowns == 2) unknown[1] = 0.001;
  ceres::Problem problem;
  for (const Known& p : points)
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<Residual<kUnknowns>, 1, kUnknowns>(
            new Residual<kUnknowns>{law, p.ranks, p.log_speedup, p.weight}),
        nullptr, unknown.data());
  for (int i = 0; i < kUnknowns; ++i) {
    problem.SetParameterLowerBound(unknown.data(), i, 0);
    problem.SetParameterUpperBound(unknown.data(), i, 0.999999);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.logging_type = ceres::SILENT;
  options.function_tolerance = 1e-14;
  options.parameter_tolerance = 1e-12;
  options.num_threads = 1;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return {unknown[0], kUnknowns == 2 ? unknown[kUnknowns - 1] : 0};
}

LawValues solve(Law law, std::span<const Known> points) {
  return law == Law::usl ? solve_as<2>(law, points) : solve_as<1>(law, points);
}

double spread_of(const Estimate& e) {
  const double sd = e.has_interval() ? standard_deviation(e.log_draws) : 0;
  return sd > 1e-4 ? sd : 0.01;
}

std::vector<Known> known_of(std::span<const SpeedupPoint> points) {
  std::vector<Known> out;
  for (const SpeedupPoint& p : points)
    if (p.ranks > 1 && p.speedup.value > 0)
      out.push_back(
          {p.ranks, std::log(p.speedup.value), 1 / spread_of(p.speedup)});
  return out;
}

// The fit again on every draw of the speed-ups.
void add_interval(LawFit& fit, std::span<const SpeedupPoint> points) {
  std::size_t draws = kMostRefits;
  for (const SpeedupPoint& p : points)
    if (p.ranks > 1) draws = std::min(draws, p.speedup.log_draws.size());
  const double none = std::nan("");
  fit.low = fit.high = {none, none};
  if (draws < 20) {
    fit.warnings.push_back("speed-ups without intervals: no interval here");
    return;
  }
  std::vector<double> serial, coherence;
  for (std::size_t d = 0; d < draws; ++d) {
    std::vector<Known> drawn;
    for (const SpeedupPoint& p : points)
      if (p.ranks > 1)
        drawn.push_back(
            {p.ranks, p.speedup.log_draws[d], 1 / spread_of(p.speedup)});
    const LawValues values = solve(fit.law, drawn);
    serial.push_back(values.serial), coherence.push_back(values.coherence);
  }
  fit.low = {quantile(serial, 0.025), quantile(coherence, 0.025)};
  fit.high = {quantile(serial, 0.975), quantile(coherence, 0.975)};
}

void add_warnings(LawFit& fit, std::span<const SpeedupPoint> points,
                  std::size_t num_points) {
  const std::size_t unknowns = fit.law == Law::usl ? 2 : 1;
  if (num_points <= unknowns)
    fit.warnings.push_back(fmt::format(
        "{} unknown(s) from {} speed-up(s): it fits whatever was measured",
        unknowns, num_points));
  if (fit.rms > 0.10)
    fit.warnings.push_back(fmt::format(
        "misses the measured speed-ups by {:.0f} %: this law does not describe "
        "them",
        100 * fit.rms));
  if (std::ranges::any_of(points, [](const SpeedupPoint& p) {
        return p.speedup.value > 1.02 * p.ranks;
      }))
    fit.warnings.push_back(
        "a measured speed-up is more than linear, which no value of this law "
        "allows");
  fit.warnings.push_back(
      fmt::format("outside 1 to {:.0f} ranks it is a guess", fit.max_ranks));
}

LawFit fit_law(Law law, std::span<const SpeedupPoint> points,
               std::span<const Known> known) {
  LawFit fit{.law = law, .values = solve(law, known)};
  double squares = 0;
  for (const Known& p : known) {
    fit.max_ranks = std::max(fit.max_ranks, p.ranks);
    const double off =
        std::log(speedup_at(law, fit.values, p.ranks)) - p.log_speedup;
    squares += off * off;
  }
  fit.rms = std::sqrt(squares / static_cast<double>(known.size()));
  fit.peak_ranks =
      law == Law::usl && fit.values.coherence > 1e-9
          ? std::sqrt((1 - fit.values.serial) / fit.values.coherence)
          : std::numeric_limits<double>::infinity();
  add_interval(fit, points);
  add_warnings(fit, points, known.size());
  return fit;
}

}  // namespace

std::string_view word(Law law) {
  constexpr std::string_view kWords[] = {"Amdahl", "Gustafson", "USL"};
  return kWords[static_cast<int>(law)];
}

double speedup_at(Law law, const LawValues& values, double ranks) {
  return speedup(law, values.serial, values.coherence, ranks);
}

std::vector<LawFit> fit_laws(std::span<const SpeedupPoint> points,
                             std::span<const Law> laws) {
  const std::vector<Known> known = known_of(points);
  std::vector<LawFit> out;
  for (const Law law : laws)
    if (known.size() >= (law == Law::usl ? 2u : 1u))
      out.push_back(fit_law(law, points, known));
  return out;
}

std::vector<LawFit> fit_laws(const ScalingSeries& series) {
  if (series.origin == Origin::predicted) return {};  // a model of a model
  std::vector<SpeedupPoint> points;
  const auto base = static_cast<double>(series.steps.front().ranks);
  for (const ScalingStep& s : series.steps)
    points.push_back({static_cast<double>(s.ranks) / base, s.speedup});
  const std::array laws = {
      series.kind == ScalingKind::weak ? Law::gustafson : Law::amdahl,
      Law::usl};
  return fit_laws(points, laws);
}

}  // namespace lockstep
