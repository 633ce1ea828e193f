// SPDX-License-Identifier: Apache-2.0
// The fit behind calibrate(): robust least squares in ln(epoch), with a weak
// prior for each unknown and a stronger one that a step grows smoothly with
// its batch.
#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/core/error.h"
#include "lockstep/predict/calibrate.h"

namespace lockstep {
namespace {

constexpr double kFitNoise = 0.02;
constexpr double kLeastNoise = 0.02;
constexpr double kRough = 0.12;      // bend of ln(step) at a measured share
constexpr double kPriorWidth = 1.5;  // of ln(unknown)
constexpr double kDampedBeyond = 2;  // residuals beyond are damped

enum Unknown { loading, parallel_loading, exchange, per_gpu, rate, crowding };
constexpr int kUnknowns = 6;

struct State {
  double ln[kUnknowns] = {};                           // of each unknown
  std::map<std::string, std::vector<double>> ln_step;  // at each share
};

// Where the unknowns are looked for: ordinary PyTorch on PCIe.
State first_guess(std::span<const EpochRun> runs, const SystemFit& s) {
  double least = 1e300;
  for (const EpochRun& r : runs) least = std::min(least, r.epoch_s);
  State state;
  state.ln[loading] = std::log(0.3 * least);
  state.ln[parallel_loading] = std::log(0.03 * least);
  state.ln[exchange] = std::log(1e-3);
  state.ln[per_gpu] = std::log(2e-4);
  state.ln[rate] = std::log(4e9);
  state.ln[crowding] = std::log(0.02);
  for (const auto& [model, curve] : s.steps)
    for (const double step_s : curve.step_s)
      state.ln_step[model].push_back(std::log(step_s));
  return state;
}

std::size_t share_index(const StepCurve& curve, double share) {
  const auto found = std::ranges::find(curve.share, share);
  check(found != curve.share.end(), "every measured share has its place");
  return static_cast<std::size_t>(found - curve.share.begin());
}

struct EpochResidual {
  double full, steps, bytes, beyond, ln_epoch;
  bool parallel;

  template <class T>
  bool operator()(const T* ln, const T* ln_step, T* residual) const {
    using std::exp;
    using std::log;
    T epoch = exp(ln[loading]) + full * exp(ln_step[0]);
    if (parallel)
      epoch += exp(ln[parallel_loading]) +
               steps * (exp(ln[exchange]) + beyond * exp(ln[per_gpu]) +
                        2 * bytes * exp(-ln[rate]) *
                            (1.0 + beyond * exp(ln[crowding])));
    residual[0] = (log(epoch) - ln_epoch) / kFitNoise;
    return true;
  }
};

// ln(step) at the middle of three shares against the line through the others.
struct Bend {
  double weight;  // of the right one

  template <class T>
  bool operator()(const T* left, const T* middle, const T* right,
                  T* residual) const {
    residual[0] =
        (middle[0] - (1 - weight) * left[0] - weight * right[0]) / kRough;
    return true;
  }
};

struct Prior {
  double ln;
  int index;

  template <class T>
  bool operator()(const T* values, T* residual) const {
    residual[0] = (values[index] - ln) / kPriorWidth;
    return true;
  }
};

// Shares that were measured, with the step they would take if it were all.
void lay_curves(std::span<const EpochRun> runs, SystemFit& s) {
  std::map<std::string, std::map<double, double>> found;
  for (const EpochRun& r : runs) {
    const double share = std::ceil(r.batch / r.gpus);
    const double step_s = r.epoch_s / std::ceil(s.epoch_samples / r.batch);
    auto& least = found[r.model].try_emplace(share, step_s).first->second;
    least = std::min(least, 0.7 * step_s);
    s.measured_gpus[r.model].push_back(r.gpus);
  }
  for (const auto& [model, shares] : found)
    for (const auto& [share, step_s] : shares) {
      s.steps[model].share.push_back(share);
      s.steps[model].step_s.push_back(step_s);
    }
}

void add_rows(ceres::Problem& problem, std::span<const EpochRun> runs,
              const SystemFit& s, State& state) {
  for (const EpochRun& r : runs) {
    const std::size_t place =
        share_index(s.steps.at(r.model), std::ceil(r.batch / r.gpus));
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<EpochResidual, 1, kUnknowns, 1>(
            new EpochResidual{.full = s.epoch_samples / r.batch,
                              .steps = std::ceil(s.epoch_samples / r.batch),
                              .bytes = r.param_bytes,
                              .beyond = std::max(0.0, r.gpus - 2.0),
                              .ln_epoch = std::log(r.epoch_s),
                              .parallel = r.gpus > 1}),
        new ceres::CauchyLoss(kDampedBeyond), state.ln,
        &state.ln_step[r.model][place]);
  }
}

void add_priors(ceres::Problem& problem, const SystemFit& s, State& state) {
  for (int i = 0; i < kUnknowns; ++i)
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<Prior, 1, kUnknowns>(
            new Prior{.ln = state.ln[i], .index = i}),
        nullptr, state.ln);
  for (const auto& [model, curve] : s.steps) {
    std::vector<double>& y = state.ln_step[model];
    for (std::size_t i = 1; i + 1 < y.size(); ++i) {
      const double a = std::log(curve.share[i - 1]);
      const double b = std::log(curve.share[i + 1]);
      const double w = (std::log(curve.share[i]) - a) / (b - a);
      problem.AddResidualBlock(
          new ceres::AutoDiffCostFunction<Bend, 1, 1, 1, 1>(
              new Bend{.weight = w}),
          new ceres::CauchyLoss(1), &y[i - 1], &y[i], &y[i + 1]);
    }
  }
}

void take_over(const State& state, SystemFit& s) {
  s.loading_s = std::exp(state.ln[loading]);
  s.parallel_loading_s = std::exp(state.ln[parallel_loading]);
  s.exchange_s = std::exp(state.ln[exchange]);
  s.exchange_per_gpu_s = std::exp(state.ln[per_gpu]);
  s.bytes_per_s = std::exp(state.ln[rate]);
  s.crowding = std::exp(state.ln[crowding]);
  for (auto& [model, curve] : s.steps)
    for (std::size_t i = 0; i < curve.step_s.size(); ++i)
      curve.step_s[i] = std::exp(state.ln_step.at(model)[i]);
}

// The middle of |ln(measured / fitted)| as a standard deviation, doubled: the
// fit has seen the rows.
double noise_of(const std::string& model, std::span<const EpochRun> runs,
                const SystemFit& s) {
  std::vector<double> off;
  for (const EpochRun& r : runs)
    if (r.model == model)
      off.push_back(std::abs(std::log(forecast(s, r).epoch_s / r.epoch_s)));
  std::ranges::nth_element(off, off.begin() + std::ssize(off) / 2);
  return std::clamp(2 * 1.4826 * off[off.size() / 2], kLeastNoise, 0.3);
}

}  // namespace

SystemFit calibrate(std::span<const EpochRun> runs, double epoch_samples) {
  if (runs.size() < 3)
    throw Error(Fault::config, "--calibrate", "has fewer than 3 rows",
                "measure at least 1 and 2 GPUs at two batch sizes");
  SystemFit s;
  s.epoch_samples = epoch_samples;
  lay_curves(runs, s);
  State state = first_guess(runs, s);
  ceres::Problem problem;
  add_rows(problem, runs, s, state);
  add_priors(problem, s, state);
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.dense_linear_algebra_library_type = ceres::EIGEN;
  options.max_num_iterations = 300;
  options.function_tolerance = 1e-9;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  check(summary.IsSolutionUsable(), "a system can be fitted");
  take_over(state, s);
  for (const auto& [model, curve] : s.steps) s.noise[model] = kFitNoise;
  for (auto& [model, noise] : s.noise) noise = noise_of(model, runs, s);
  return s;
}

}  // namespace lockstep
