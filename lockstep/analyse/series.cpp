// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/series.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "lockstep/analyse/student.h"
#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

constexpr std::size_t kFewestBlocks = 4;

double middle_of(std::vector<double>& values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Within five median absolute deviations of the median.
std::vector<double> clipped(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end()), away = out;
  const double middle = middle_of(away);
  for (double& v : away) v = std::fabs(v - middle);
  const double reach = 5 * 1.4826 * middle_of(away);
  if (reach > 0)
    for (double& v : out) v = std::clamp(v, middle - reach, middle + reach);
  return out;
}

std::vector<double> sound(std::span<const double> values) {
  std::vector<double> out;
  for (const double v : values)
    if (std::isfinite(v) && v > 0) out.push_back(v);
  return out;
}

// Draws of a mean of `values`, widened as a t interval of so few would be.
std::vector<double> draws_of_mean(const std::vector<double>& values,
                                  const Resampling& how) {
  const std::size_t n = values.size();
  const double middle = mean(values);
  const auto count = static_cast<double>(n);
  const double widen = std::sqrt(count / (count - 1)) *
                       student_quantile(0.975, count - 1) / 1.959963984540054;
  std::mt19937_64 random(how.seed);
  std::vector<double> out(static_cast<std::size_t>(how.draws));
  for (double& draw : out) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[draw_below(random, n)];
    draw = widen * (sum / count - middle);
  }
  return out;
}

void set_interval(Estimate& estimate) {
  if (!estimate.has_interval()) {
    estimate.low = estimate.high = std::nan("");
    return;
  }
  const double tail = 0.5 * (1 - kMeasuredLevel);
  estimate.low = std::exp(quantile(estimate.log_draws, tail));
  estimate.high = std::exp(quantile(estimate.log_draws, 1 - tail));
}

}  // namespace

double correlation_steps(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 4) return 1;
  const std::vector<double> v = clipped(values);
  const double middle = mean(v);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < n; ++i)
      sum += (v[i] - middle) * (v[i + lag] - middle);
    return sum / static_cast<double>(n);
  };
  const double variance = covariance(0);
  if (!(variance > 0)) return 1;
  double sum = -1;
  for (std::size_t lag = 0; lag + 1 < n / 2; lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  return std::max(1.0, sum);
}

std::size_t block_length(std::span<const double> values) {
  const auto needed =
      static_cast<std::size_t>(std::ceil(2 * correlation_steps(values)));
  return std::max({kShortestBlock, needed,
                   (values.size() + kMostBlocks - 1) / kMostBlocks});
}

std::vector<double> block_medians(std::span<const double> values,
                                  std::size_t length) {
  std::vector<double> out;
  for (std::size_t at = values.size() % length; at < values.size();
       at += length) {
    const auto block = values.subspan(at, length);
    std::vector<double> copy(block.begin(), block.end());
    out.push_back(middle_of(copy));
  }
  return out;
}

Estimate estimate_median(std::span<const double> values,
                         const Resampling& how) {
  std::vector<double> kept = sound(values);
  Estimate out;
  out.count = kept.size();
  out.value = kept.empty() ? std::nan("") : quantile(kept, 0.5);
  std::vector<double> logs = block_medians(kept, block_length(kept));
  out.blocks = logs.size();
  if (logs.size() >= kFewestBlocks) {
    for (double& v : logs) v = std::log(v);
    out.log_draws = draws_of_mean(logs, how);
    for (double& draw : out.log_draws) draw += std::log(out.value);
  }
  set_interval(out);
  return out;
}

Estimate pool(std::span<const Estimate> runs, const Resampling& how) {
  if (runs.size() == 1) return runs[0];
  Estimate out;
  std::vector<double> logs;
  for (const Estimate& run : runs) {
    out.count += run.count, out.blocks += run.blocks;
    if (run.value > 0) logs.push_back(std::log(run.value));
  }
  out.value = logs.empty() ? std::nan("") : std::exp(mean(logs));
  if (logs.size() >= 2) {
    out.log_draws = draws_of_mean(logs, how);
    // Within runs: each moves by itself, the mean by its share.
    for (const Estimate& run : runs)
      for (std::size_t d = 0;
           d < std::min(run.log_draws.size(), out.log_draws.size()); ++d)
        out.log_draws[d] += (run.log_draws[d] - std::log(run.value)) /
                            static_cast<double>(logs.size());
    for (double& draw : out.log_draws) draw += std::log(out.value);
  }
  set_interval(out);
  return out;
}

Estimate ratio(const Estimate& top, const Estimate& bottom) {
  Estimate out;
  out.value = top.value / bottom.value;
  out.count = std::min(top.count, bottom.count);
  out.blocks = std::min(top.blocks, bottom.blocks);
  if (top.has_interval() && bottom.has_interval()) {
    const std::size_t n =
        std::min(top.log_draws.size(), bottom.log_draws.size());
    for (std::size_t d = 0; d < n; ++d)
      out.log_draws.push_back(top.log_draws[d] - bottom.log_draws[d]);
  }
  set_interval(out);
  return out;
}

Estimate single_value(double value) {
  return {.value = value,
          .low = std::nan(""),
          .high = std::nan(""),
          .count = 1,
          .blocks = 1};
}

}  // namespace lockstep
