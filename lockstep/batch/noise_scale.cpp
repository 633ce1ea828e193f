// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/noise_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/batch/special.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr double kVarianceFloor = 1e-6;

bool finite(const NoiseSample& s) {
  return std::isfinite(s.gradient_sq) && std::isfinite(s.trace);
}

NoiseSample sum_of(std::span<const NoiseSample> samples) {
  NoiseSample sum;
  for (const NoiseSample& s : samples) {
    sum.gradient_sq += s.gradient_sq;
    sum.trace += s.trace;
  }
  return sum;
}

// Jackknife: the spread of the estimates that each leave one block out.
double jackknife_se(std::span<const double> left_out) {
  const double n = static_cast<double>(left_out.size());
  double centre = 0, sum = 0;
  for (const double v : left_out) centre += v / n;
  for (const double v : left_out) sum += (v - centre) * (v - centre);
  return std::sqrt(sum * (n - 1) / n);
}

struct LeftOut {
  std::vector<double> gradient_sq, trace, log_ratio;
};

LeftOut leave_blocks_out(std::span<const NoiseSample> samples) {
  const std::size_t blocks = std::min<std::size_t>(20, samples.size());
  const NoiseSample total = sum_of(samples);
  LeftOut out;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t begin = samples.size() * b / blocks;
    const std::size_t end = samples.size() * (b + 1) / blocks;
    const NoiseSample part = sum_of(samples.subspan(begin, end - begin));
    const auto kept = static_cast<double>(samples.size() - (end - begin));
    const double g = (total.gradient_sq - part.gradient_sq) / kept;
    const double t = (total.trace - part.trace) / kept;
    out.gradient_sq.push_back(g);
    out.trace.push_back(t);
    if (g > 0 && t > 0) out.log_ratio.push_back(std::log(t / g));
  }
  return out;
}

}  // namespace

NoiseSample two_batch_estimate(const TwoBatchNorms& n) {
  if (!(n.small_batch > 0 && n.big_batch > n.small_batch))
    throw Error(Fault::data, "noise scale",
                fmt::format("needs two batch sizes, has {} and {}",
                            n.small_batch, n.big_batch));
  return {(n.big_batch * n.big_sq - n.small_batch * n.small_sq) /
              (n.big_batch - n.small_batch),
          (n.small_sq - n.big_sq) / (1 / n.small_batch - 1 / n.big_batch)};
}

NoiseSample micro_gradient_estimate(const MicroNorms& n) {
  if (n.count < 2)
    throw Error(Fault::data, "noise scale",
                "one gradient a step has nothing to be compared with",
                "use two ranks or batch.accumulate=2");
  if (!(n.micro_batch > 0))
    throw Error(Fault::data, "noise scale", "the micro-batch is empty");
  const double c = static_cast<double>(n.count);
  return {(c * n.sq_of_mean - n.mean_of_sq) / (c - 1),
          (n.mean_of_sq - n.sq_of_mean) * c * n.micro_batch / (c - 1)};
}

double NoiseAverage::default_memory(double batch, double base_batch) {
  return std::pow(0.999, batch / base_batch);
}

void NoiseAverage::add(const NoiseSample& sample, double memory) {
  check(memory >= 0 && memory < 1, "an average forgets");
  if (!finite(sample)) {
    ++num_dropped_;
    return;
  }
  ++num_samples_;
  gradient_sq_ = memory * gradient_sq_ + (1 - memory) * sample.gradient_sq;
  trace_ = memory * trace_ + (1 - memory) * sample.trace;
  weight_ = memory * weight_ + (1 - memory);
}

double NoiseAverage::gradient_sq() const {
  return weight_ > 0 ? std::max(gradient_sq_ / weight_, 0.0) : 0;
}

double NoiseAverage::variance(double base_batch) const {
  const double trace = weight_ > 0 ? trace_ / weight_ : 0;
  return std::max(trace / base_batch, kVarianceFloor);
}

double NoiseAverage::noise_scale() const {
  const double g = gradient_sq();
  if (!(g > 0)) return std::numeric_limits<double>::infinity();
  return std::max(trace_ / weight_, 0.0) / g;
}

NoiseScale noise_scale(std::span<const NoiseSample> samples) {
  std::vector<NoiseSample> kept;
  std::ranges::copy_if(samples, std::back_inserter(kept), finite);
  if (kept.size() < 10)
    throw Error(
        Fault::data, "noise scale",
        fmt::format("{} finite samples; an error bar needs ten", kept.size()));
  const NoiseSample sum = sum_of(kept);
  const LeftOut left = leave_blocks_out(kept);
  NoiseScale out;
  out.gradient_sq = sum.gradient_sq / static_cast<double>(kept.size());
  out.trace = sum.trace / static_cast<double>(kept.size());
  out.gradient_sq_se = jackknife_se(left.gradient_sq);
  out.trace_se = jackknife_se(left.trace);
  out.resolved = out.gradient_sq > kNormal95 * out.gradient_sq_se &&
                 out.trace > 0 &&
                 left.log_ratio.size() == left.gradient_sq.size();
  if (!out.resolved) {
    out.value = out.high = out.se = std::numeric_limits<double>::infinity();
    return out;
  }
  out.value = out.trace / out.gradient_sq;
  const double log_se = jackknife_se(left.log_ratio);
  out.se = out.value * log_se;
  out.low = out.value * std::exp(-kNormal95 * log_se);
  out.high = out.value * std::exp(kNormal95 * log_se);
  return out;
}

}  // namespace lockstep
