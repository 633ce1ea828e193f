// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/calibrate.h"

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr double kNormal90 = 1.645;
// What a prediction may be off, in ln(epoch), where nothing was measured:
constexpr double kNewGpuCount = 0.02;  // a number of GPUs of this model
constexpr double kNoSingle = 0.7;      // one GPU of this model
constexpr double kBelow = 0.2;     // a share, each e-fold below the smallest
constexpr double kBetween = 0.05;  // a share, each e-fold to its neighbours
constexpr double kJump = 0.3;      // of a jump between two shares

// Below the smallest measured share s0 a step lies between two bounds: the line
// through the two smallest (all of the work shrinks) and the step at s0 (none
// of it does: launches, kernels too small to fill a device).
struct Below {
  double least_s = 0, most_s = 0;

  double middle_s() const { return std::sqrt(least_s * most_s); }
  // Nothing is known between them: 90 % lie there.
  double doubt() const { return 0.5 * std::log(most_s / least_s) / kNormal90; }
};

Below below(const StepCurve& c, double samples) {
  const double first = c.step_s[0];
  double base = 0;
  if (c.share.size() > 1) {
    const double slope =
        (c.step_s[1] - c.step_s[0]) / (c.share[1] - c.share[0]);
    base = std::clamp(first - slope * c.share[0], 0.0, first);
  }
  return {base + (first - base) * samples / c.share[0], first};
}

double largest_share(const EpochRun& run) {
  return std::ceil(run.batch / run.gpus);
}

// Seconds of an epoch by what takes them.
struct EpochParts {
  double input_s = 0, compute_s = 0, latency_s = 0, communication_s = 0;
  double total() const {
    return input_s + compute_s + latency_s + communication_s;
  }
};

EpochParts parts_of(const SystemFit& s, const EpochRun& run) {
  // The last step of an epoch may be smaller; what is exchanged is not.
  const double full = s.epoch_samples / run.batch, steps = std::ceil(full);
  EpochParts out;
  out.input_s = s.loading_s;
  out.compute_s = full * s.steps.at(run.model).at(largest_share(run));
  if (run.gpus < 2) return out;
  const double beyond = run.gpus - 2;
  out.input_s += s.parallel_loading_s;
  out.latency_s = steps * (s.exchange_s + s.exchange_per_gpu_s * beyond);
  out.communication_s =
      steps * 2 * run.param_bytes / s.bytes_per_s * (1 + s.crowding * beyond);
  return out;
}

double epoch_spread(const SystemFit& s, const EpochRun& run,
                    const EpochParts& parts) {
  const double step = s.steps.at(run.model).doubt(largest_share(run));
  const auto& counts = s.measured_gpus.at(run.model);
  const bool seen = std::ranges::find(counts, run.gpus) != counts.end();
  const double unseen = run.gpus == 1 ? kNoSingle : kNewGpuCount;
  return std::hypot(s.noise.at(run.model), seen ? 0 : unseen,
                    parts.compute_s / parts.total() * step);
}

}  // namespace

double StepCurve::at(double samples) const {
  const double x = std::log(samples);
  const auto next = std::ranges::lower_bound(share, samples);
  const auto i = static_cast<std::size_t>(next - share.begin());
  if (i == share.size()) return step_s.back() * samples / share.back();
  if (share[i] == samples) return step_s[i];
  if (i == 0) return below(*this, samples).middle_s();
  const double a = std::log(share[i - 1]), b = std::log(share[i]);
  const double w = (x - a) / (b - a);
  return std::exp((1 - w) * std::log(step_s[i - 1]) + w * std::log(step_s[i]));
}

double StepCurve::doubt(double samples) const {
  const auto next = std::ranges::lower_bound(share, samples);
  const auto i = static_cast<std::size_t>(next - share.begin());
  if (i == 0)
    return std::hypot(below(*this, samples).doubt(),
                      kBelow * std::log(share[0] / samples));
  if (i == share.size()) return kBetween * std::log(samples / share.back());
  const double width = std::log(share[i] / share[i - 1]);
  const double left = std::log(samples / share[i - 1]);
  const double rise = std::log(step_s[i] / step_s[i - 1]);
  // A step grows between not at all and in proportion; anything else is a
  // change of algorithm somewhere between the two shares.
  const double jump = std::max({0.0, rise - width, -rise});
  const double w = left / width;
  return 4 * w * (1 - w) * (kJump * jump + kBetween * width);
}

EpochForecast forecast(const SystemFit& s, const EpochRun& run) {
  check(s.steps.contains(run.model), "the model was fitted");
  const EpochParts many = parts_of(s, run);
  EpochRun single = run;
  single.gpus = 1;
  const EpochParts one = parts_of(s, single);
  EpochForecast out;
  out.epoch_s = many.total();
  const double spread = kNormal90 * epoch_spread(s, run, many);
  out.low_s = out.epoch_s * std::exp(-spread);
  out.high_s = out.epoch_s * std::exp(spread);
  out.speedup = one.total() / out.epoch_s;
  out.verdict = verdict_of(out.speedup, run.gpus);
  const double n = run.gpus;
  out.cause = cause_of({.compute_s = many.compute_s - one.compute_s / n,
                        .communication_s = many.communication_s,
                        .latency_s = many.latency_s,
                        .input_s = many.input_s - one.input_s / n},
                       out.epoch_s);
  return out;
}

}  // namespace lockstep
