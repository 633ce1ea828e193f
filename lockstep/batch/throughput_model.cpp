// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/throughput_model.h"

#include <ceres/autodiff_first_order_function.h>
#include <ceres/ceres.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr double kNothing = 1e-8;  // Pollux's lower bound of every parameter
constexpr int kUnknowns = 7;

template <class T>
using Parameters = std::array<T, kUnknowns>;

// Which parts the measurements can say anything about.
struct Seen {
  bool several_batches = false, several_nodes = false, several_ranks = false;
  bool many_ranks_nodes = false, many_ranks_local = false;
  double mean_gradient_s = 0;
};

double extra_ranks(Placement where) {
  return std::max(static_cast<double>(where.ranks - 2), kNothing);
}

Seen look(std::span<const MeasuredStep> steps) {
  Seen seen;
  for (const MeasuredStep& s : steps) {
    seen.several_batches |= s.per_rank_batch != steps[0].per_rank_batch;
    const bool across = s.where.nodes > 1;
    seen.several_nodes |= across;
    seen.several_ranks |= !across && s.where.ranks > 1;
    seen.many_ranks_nodes |= across && s.where.ranks > 2;
    seen.many_ranks_local |= !across && s.where.ranks > 2;
    seen.mean_gradient_s +=
        (s.step_s - s.sync_s) / static_cast<double>(steps.size());
  }
  return seen;
}

// From unbounded unknowns to the model's parameters: exponentials keep the
// times positive, a logistic keeps the overlap within 1 and 10, and what was
// not seen is fixed as Pollux fixes it.
template <class T>
Parameters<T> unfold(const T* u, const Seen& seen) {
  Parameters<T> p;
  for (std::size_t i = 0; i < 6; ++i) p[i] = T(kNothing) + exp(u[i]);
  if (!seen.several_batches) p[0] = T(seen.mean_gradient_s / 2);
  if (!seen.many_ranks_local) p[5] = T(kNothing);
  if (!seen.several_ranks) p[4] = T(kNothing);
  if (!seen.several_nodes) {
    p[2] = T(kNothing);
    p[3] = T(kNothing);
  } else {
    // Across nodes a message costs at least 1.1 of one within.
    p[2] = T(1.1) * p[4] + exp(u[2]);
    p[3] = seen.many_ranks_nodes ? T(1.1) * p[5] + exp(u[3]) : T(kNothing);
  }
  p[6] = T(1) + T(9) / (T(1) + exp(-u[6]));
  return p;
}

struct Objective {
  std::span<const MeasuredStep> steps;
  Seen seen;

  template <class T>
  bool operator()(const T* u, T* cost) const {
    const Parameters<T> p = unfold(u, seen);
    const double n = static_cast<double>(steps.size());
    T gradient_sq(0), step_sq(0);
    for (const MeasuredStep& s : steps) {
      const T gradient = p[0] + p[1] * s.per_rank_batch;
      const std::size_t at = s.where.nodes > 1 ? 2 : 4;
      const T messages = s.where.ranks > 1
                             ? p[at] + p[at + 1] * extra_ranks(s.where)
                             : T(kNothing);
      const T step =
          pow(pow(gradient, p[6]) + pow(messages, p[6]), T(1) / p[6]);
      const T dg = log(gradient) - std::log(s.step_s - s.sync_s);
      const T dt = log(step) - std::log(s.step_s);
      gradient_sq += dg * dg / n;
      step_sq += dt * dt / n;
    }
    cost[0] = sqrt(gradient_sq + 1e-18) + sqrt(step_sq + 1e-18) +
              T(1e-3) * (p[6] - T(1)) * (p[6] - T(1));
    // A large slope over a small constant is not believed. Where both are
    // fixed the published objective adds a constant; it is left out.
    if (seen.several_nodes) cost[0] += T(1e-2) * (p[3] / p[2]) * (p[3] / p[2]);
    if (seen.several_ranks) cost[0] += T(1e-2) * (p[5] / p[4]) * (p[5] / p[4]);
    return true;
  }
};

ThroughputModel model_of(const Parameters<double>& p) {
  return {.compute_fixed_s = p[0],
          .compute_per_sample_s = p[1],
          .node_fixed_s = p[2],
          .node_per_rank_s = p[3],
          .local_fixed_s = p[4],
          .local_per_rank_s = p[5],
          .overlap = p[6]};
}

void require_steps(std::span<const MeasuredStep> steps) {
  if (steps.size() < 2)
    throw Error(Fault::data, "throughput", "a fit needs two measured steps");
  for (const MeasuredStep& s : steps)
    if (!(s.per_rank_batch > 0 && s.sync_s >= 0 && s.step_s > s.sync_s) ||
        s.where.ranks < 1 || s.where.nodes < 1 || s.where.nodes > s.where.ranks)
      throw Error(
          Fault::data, "throughput",
          fmt::format("{} s, {} s of it messages, at batch {} on {} "
                      "ranks cannot be",
                      s.step_s, s.sync_s, s.per_rank_batch, s.where.ranks));
}

std::vector<double> relative_errors(const ThroughputModel& model,
                                    std::span<const MeasuredStep> steps) {
  std::vector<double> errors;
  for (const MeasuredStep& s : steps)
    errors.push_back(
        std::abs(model.step_s(s.per_rank_batch, s.where) / s.step_s - 1));
  return errors;
}

}  // namespace

double ThroughputModel::gradient_s(double per_rank_batch) const {
  return compute_fixed_s + compute_per_sample_s * per_rank_batch;
}

double ThroughputModel::messages_s(Placement where) const {
  if (where.ranks < 2) return kNothing;
  return where.nodes > 1
             ? node_fixed_s + node_per_rank_s * extra_ranks(where)
             : local_fixed_s + local_per_rank_s * extra_ranks(where);
}

double ThroughputModel::step_s(double per_rank_batch, Placement where) const {
  return std::pow(std::pow(gradient_s(per_rank_batch), overlap) +
                      std::pow(messages_s(where), overlap),
                  1 / overlap);
}

double ThroughputModel::throughput(double per_rank_batch, Placement where,
                                   std::int64_t accumulate) const {
  const auto passes = static_cast<double>(accumulate);
  const double examples =
      static_cast<double>(where.ranks) * per_rank_batch * (passes + 1);
  return examples /
         (passes * gradient_s(per_rank_batch) + step_s(per_rank_batch, where));
}

ThroughputFit fit_throughput(std::span<const MeasuredStep> steps) {
  require_steps(steps);
  const Seen seen = look(steps);
  const double a = std::log(0.1), b = std::log(0.01);
  std::array<double, kUnknowns> u = {a, b, a, b, a, b, std::log(0.5)};
  ceres::GradientProblem problem(
      new ceres::AutoDiffFirstOrderFunction<Objective, kUnknowns>(
          new Objective{steps, seen}));
  ceres::GradientProblemSolver::Options options;
  options.max_num_iterations = 2000;
  options.function_tolerance = 1e-12;
  options.gradient_tolerance = 1e-10;
  options.logging_type = ceres::SILENT;
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, u.data(), &summary);
  if (!summary.IsSolutionUsable())
    throw Error(
        Fault::data, "throughput",
        "the model cannot be fitted to these steps: " + summary.message);
  ThroughputFit fit;
  fit.model = model_of(unfold(u.data(), seen));
  fit.objective = summary.final_cost;
  const std::vector<double> errors = relative_errors(fit.model, steps);
  fit.median_relative_error = quantile(errors, 0.5);
  fit.p95_relative_error = quantile(errors, 0.95);
  return fit;
}

}  // namespace lockstep
