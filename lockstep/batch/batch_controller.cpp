// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/batch_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/batch/goodput.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

LinearStepTime pass_time(const std::vector<StepTime>& points) {
  check(!points.empty(), "a step was timed before a batch is chosen");
  if (points.size() == 1)
    return {.fixed_s = points[0].step_s / 2,
            .per_sample_s = points[0].step_s / 2 / points[0].per_rank_batch};
  LinearStepTime fit = fit_linear_step_time(points);
  // Noise may tilt the line; neither part of a pass takes negative time.
  if (fit.fixed_s < 0 || fit.per_sample_s < 0) {
    double s = 0, samples = 0;
    for (const StepTime& p : points) s += p.step_s, samples += p.per_rank_batch;
    fit =
        fit.fixed_s < 0
            ? LinearStepTime{.per_sample_s = s / samples}
            : LinearStepTime{.fixed_s = s / static_cast<double>(points.size())};
  }
  return fit;
}

double step_s(const LinearStepTime& pass, const StepSize& size,
              std::int64_t ranks) {
  const auto passes = static_cast<double>(size.passes);
  const double samples =
      static_cast<double>(size.global) / static_cast<double>(ranks) / passes;
  return passes * pass.at(samples);
}

// base * sqrt(2)^j as whole samples for every rank, within reach of `now`.
std::vector<StepSize> candidates(const StepSize& now, double base,
                                 const BatchLimits& limits) {
  const auto low = std::max(limits.least, now.global / 2);
  const auto high = std::min(limits.most, now.global * 2);
  std::vector<StepSize> out{now};
  for (int j = 0; j < 80; ++j) {
    const double each =
        base * std::pow(2, j / 2.0) / static_cast<double>(limits.ranks);
    const auto global =
        std::max<std::int64_t>(1, std::llround(each)) * limits.ranks;
    if (global > high) break;
    if (global >= low && global != now.global)
      out.push_back(sized(global, limits));
  }
  return out;
}

std::string percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

}  // namespace

StepSize sized(std::int64_t global, const BatchLimits& limits) {
  const std::int64_t each = (global + limits.ranks - 1) / limits.ranks;
  return {global, (each + limits.most_per_pass - 1) / limits.most_per_pass};
}

BatchDecision decide_batch(const StepSize& now, const BatchEvidence& evidence,
                           const BatchLimits& limits) {
  if (evidence.noise_samples < kLeastNoiseSamples)
    return {now, 0,
            fmt::format("keep {}: {} noise samples, {} are needed", now.global,
                        evidence.noise_samples, kLeastNoiseSamples)};
  const LinearStepTime pass = pass_time(evidence.pass_times);
  const double base = evidence.base_batch;
  const double noise = std::min(evidence.noise_scale, kMostNoiseScale * base);
  const auto useful = [&](const StepSize& size) {
    const auto batch = static_cast<double>(size.global);
    return goodput(batch / step_s(pass, size, limits.ranks), noise, base,
                   batch);
  };
  const std::vector<StepSize> sizes = candidates(now, base, limits);
  const StepSize best = *std::ranges::max_element(sizes, {}, useful);
  const double gain = useful(best) / useful(now) - 1;
  const std::string why = fmt::format(
      "noise scale {:.4g}, a pass {:.3g} ms + {:.3g} ms a sample{}", noise,
      pass.fixed_s * 1e3, pass.per_sample_s * 1e3,
      evidence.pass_times.size() == 1 ? " (one size seen: half is fixed)" : "");
  if (best == now)
    return {now, 0,
            fmt::format("keep {}: the best in reach; {}", now.global, why)};
  if (gain <= limits.min_gain)
    return {
        now, gain,
        fmt::format("keep {}: {} would bring {}, not above {}; {}", now.global,
                    best.global, percent(gain), percent(limits.min_gain), why)};
  return {best, gain,
          fmt::format("{} {} to {}: goodput {}; {}",
                      best.global > now.global ? "grow" : "shrink", now.global,
                      best.global, percent(gain), why)};
}

}  // namespace lockstep
