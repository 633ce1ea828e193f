// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/critical_batch.h"

#include <ceres/ceres.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// How far beyond the sweep a bend can still be told from none.
constexpr double kReach = 100;

// ln S_min + ln(1 + B_crit / B) - ln S, both unknowns as logarithms.
struct Residual {
  double batch, log_steps;
  template <class T>
  bool operator()(const T* log_critical, const T* log_min, T* out) const {
    out[0] = log_min[0] + log(T(1) + exp(log_critical[0]) / batch) - log_steps;
    return true;
  }
};

void require_sweep(std::span<const StepsToTarget> points) {
  std::set<double> sizes;
  for (const StepsToTarget& p : points) {
    if (!(p.batch > 0 && p.steps > 0) || !std::isfinite(p.batch * p.steps))
      throw Error(Fault::data, "critical batch size",
                  fmt::format("batch {} with {} steps cannot be fitted",
                              p.batch, p.steps));
    sizes.insert(p.batch);
  }
  if (sizes.size() < 3)
    throw Error(Fault::data, "critical batch size",
                fmt::format("{} batch sizes reach the target; a fit needs "
                            "three",
                            sizes.size()),
                "run more batch sizes or lower the target");
}

struct Solution {
  double log_critical = 0, log_min = 0, cost = 0, log_critical_se = 0;
};

double log_critical_variance(ceres::Problem& problem, const double* unknown) {
  ceres::Covariance::Options options;
  options.algorithm_type = ceres::DENSE_SVD;  // Eigen's; needs no LAPACK
  options.null_space_rank = -1;
  ceres::Covariance covariance(options);
  double variance = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const double*, const double*>> wanted = {
      {unknown, unknown}};
  if (covariance.Compute(wanted, &problem))
    covariance.GetCovarianceBlock(unknown, unknown, &variance);
  return variance;
}

Solution solve(std::span<const StepsToTarget> points, double low, double high) {
  ceres::Problem problem;
  double log_critical = 0.5 * (low + high);
  double log_min = std::log(points.front().steps);
  for (const StepsToTarget& p : points) {
    log_min = std::min(log_min, std::log(p.steps));
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Residual, 1, 1, 1>(
                                 new Residual{p.batch, std::log(p.steps)}),
                             nullptr, &log_critical, &log_min);
  }
  problem.SetParameterLowerBound(&log_critical, 0, low);
  problem.SetParameterUpperBound(&log_critical, 0, high);
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.function_tolerance = 1e-14;
  options.parameter_tolerance = 1e-12;
  options.max_num_iterations = 500;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  check(summary.IsSolutionUsable(), "two unknowns can be fitted");
  const auto freedom = std::max<std::size_t>(points.size() - 2, 1);
  const double per_point =
      2 * summary.final_cost / static_cast<double>(freedom);
  return {log_critical, log_min, summary.final_cost,
          std::sqrt(per_point * log_critical_variance(problem, &log_critical))};
}

}  // namespace

CriticalBatch fit_critical_batch(std::span<const StepsToTarget> points) {
  require_sweep(points);
  const auto [least, most] =
      std::ranges::minmax(points, {}, [](const auto& p) { return p.batch; });
  const double low = std::log(least.batch / kReach);
  const double high = std::log(most.batch * kReach);
  const Solution s = solve(points, low, high);
  CriticalBatch out;
  out.batch = std::exp(s.log_critical);
  out.low =
      std::exp(std::max(s.log_critical - kNormal95 * s.log_critical_se, low));
  out.high =
      std::exp(std::min(s.log_critical + kNormal95 * s.log_critical_se, high));
  out.min_steps = std::exp(s.log_min);
  out.min_examples = out.min_steps * out.batch;
  out.rms_log_error =
      std::sqrt(2 * s.cost / static_cast<double>(points.size()));
  // A bend is seen when the sweep reaches to within a factor four of it.
  out.bends = out.batch > least.batch / 4 && out.batch < most.batch * 4;
  return out;
}

}  // namespace lockstep
