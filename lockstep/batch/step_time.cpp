// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/step_time.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {

LinearStepTime fit_linear_step_time(std::span<const StepTime> points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixX2d a(n, 2);
  double least = 0, most = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto& [m, t] = points[static_cast<std::size_t>(i)];
    if (!(m > 0 && t > 0) || !std::isfinite(m * t))
      throw Error(Fault::data, "step time",
                  fmt::format("{} s at batch {} cannot be fitted", t, m));
    a.row(i) << 1 / t, m / t;
    least = i == 0 ? m : std::min(least, m);
    most = std::max(most, m);
  }
  if (n < 2 || least == most)
    throw Error(Fault::data, "step time",
                "a line needs two batch sizes per rank");
  const Eigen::Vector2d x =
      a.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(n));
  const double error = (a * x).array().operator-(1.0).abs().maxCoeff();
  return {x[0], x[1], error};
}

std::optional<double> measured_step_s(std::span<const StepTime> points,
                                      double per_rank_batch) {
  if (points.empty() || per_rank_batch < points.front().per_rank_batch)
    return std::nullopt;
  const double largest = points.back().per_rank_batch;
  const double passes = std::max(1.0, std::ceil(per_rank_batch / largest));
  const double m = per_rank_batch / passes;
  if (m < points.front().per_rank_batch) return std::nullopt;
  const auto above =
      std::ranges::lower_bound(points, m, {}, &StepTime::per_rank_batch);
  if (above->per_rank_batch == m) return passes * above->step_s;
  const auto below = above - 1;
  const double share = (m - below->per_rank_batch) /
                       (above->per_rank_batch - below->per_rank_batch);
  return passes * (below->step_s + share * (above->step_s - below->step_s));
}

}  // namespace lockstep
