// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

void require_positive(double value, const char* what) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(Fault::data, what, fmt::format("{} is not positive", value));
}

void require_line(const LinearStepTime& step, std::int64_t ranks) {
  require_positive(step.per_sample_s, "seconds per sample");
  require_positive(static_cast<double>(ranks), "ranks");
}

}  // namespace

double statistical_efficiency(double noise_scale, double base_batch,
                              double batch) {
  if (!(noise_scale >= 0))
    throw Error(Fault::data, "noise scale",
                fmt::format("{} is negative", noise_scale));
  require_positive(base_batch, "base batch");
  require_positive(batch, "batch");
  if (std::isinf(noise_scale)) return 1;
  return (noise_scale + base_batch) / (noise_scale + batch);
}

double goodput(double throughput, double noise_scale, double base_batch,
               double batch) {
  return throughput * statistical_efficiency(noise_scale, base_batch, batch);
}

double best_goodput_batch(const LinearStepTime& step, std::int64_t ranks,
                          double noise_scale) {
  require_line(step, ranks);
  require_positive(noise_scale, "noise scale");
  return std::sqrt(std::max(step.fixed_s, 0.0) * static_cast<double>(ranks) *
                   noise_scale / step.per_sample_s);
}

BestBatch search_goodput(const std::function<double(double)>& step_s,
                         double noise_scale, double base_batch,
                         BatchRange range) {
  if (!(range.least > 0 && range.most >= range.least))
    throw Error(
        Fault::data, "batch range",
        fmt::format("{} to {} holds no batch size", range.least, range.most));
  constexpr int kPoints = 50;
  BestBatch best;
  for (int i = 0; i < kPoints; ++i) {
    const double batch =
        range.least * std::pow(range.most / range.least,
                               i / static_cast<double>(kPoints - 1));
    const double value =
        goodput(batch / step_s(batch), noise_scale, base_batch, batch);
    if (value > best.goodput) best = {batch, value};
  }
  return best;
}

double gradient_channel_nats(double batch, double noise_scale) {
  require_positive(noise_scale, "noise scale");
  return 0.5 * std::log1p(batch / noise_scale);
}

double best_channel_batch(const LinearStepTime& step, std::int64_t ranks,
                          double noise_scale) {
  require_line(step, ranks);
  require_positive(noise_scale, "noise scale");
  const double r = std::max(step.fixed_s, 0.0) * static_cast<double>(ranks) /
                   (step.per_sample_s * noise_scale);
  // (1+x) ln(1+x) - x rises from 0, so halving an interval finds x.
  const auto excess = [r](double x) { return (1 + x) * std::log1p(x) - x - r; };
  double high = 1;
  while (excess(high) < 0) high *= 2;
  double low = 0;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (excess(middle) < 0 ? low : high) = middle;
  }
  return noise_scale * 0.5 * (low + high);
}

}  // namespace lockstep
