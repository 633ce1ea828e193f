// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/batch_by_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/batch/goodput.h"
#include "lockstep/core/error.h"
#include "lockstep/predict/predictor.h"

namespace lockstep {
namespace {

// Batch sizes tried: eight to a doubling, up to so many times the largest one
// that makes sense by the noise scale.
constexpr int kToADoubling = 8;
constexpr double kFarBeyondNoise = 64;

// What a batch does on the devices of one row; predicted once, judged by each
// noise scale.
struct Tried {
  std::int64_t batch = 0;
  Prediction prediction;
};

// Every device gets as many: sizes are multiples of their number.
std::vector<Tried> tried_on(Predictor& ask, const OneDevice& m, int devices) {
  std::vector<Tried> out;
  const double most = kFarBeyondNoise * std::max(m.noise.high, m.base_batch);
  for (int i = 0;; ++i) {
    const double size = m.base_batch * std::exp2(double(i) / kToADoubling);
    if (size > most * devices) break;
    const std::int64_t batch =
        std::max<std::int64_t>(1, std::llround(size / devices)) * devices;
    if (!out.empty() && out.back().batch == batch) continue;
    Question q = m.subject.asked;
    q.method = devices == 1 ? Method::single : Method::ddp;
    q.ranks = devices, q.batch = batch, q.scaling = Scaling::strong;
    q.accumulate = 1;
    const Prediction p = ask(q);
    if (!p.memory.fits()) break;
    out.push_back({batch, p});
  }
  return out;
}

const Tried& best_of(const std::vector<Tried>& tried, double noise,
                     double base_batch) {
  return *std::ranges::max_element(tried, {}, [&](const Tried& t) {
    return goodput(t.prediction.samples_per_s, noise, base_batch,
                   static_cast<double>(t.batch));
  });
}

BatchForDevices row_of(const std::vector<Tried>& tried, const OneDevice& m,
                       int devices) {
  const Tried& best = best_of(tried, m.noise.value, m.base_batch);
  const Prediction& p = best.prediction;
  const auto batch = static_cast<double>(best.batch);
  BatchForDevices out{.devices = devices, .batch = best.batch};
  out.low = best_of(tried, m.noise.low, m.base_batch).batch;
  out.high = best_of(tried, m.noise.high, m.base_batch).batch;
  out.step_s = p.time.step_s;
  out.step_lo90_s = p.step_s.lo90, out.step_hi90_s = p.step_s.hi90;
  out.efficiency = statistical_efficiency(m.noise.value, m.base_batch, batch);
  out.goodput = p.samples_per_s * out.efficiency;
  const std::int64_t share = best.batch / devices;
  out.beyond = share < m.steps.front().batch || share > m.steps.back().batch;
  return out;
}

}  // namespace

OneDevice one_device(const BatchComparison& c, Subject subject) {
  const std::string where =
      c.arm.empty() ? std::string("study") : "study, " + c.arm;
  if (c.ranks != 1)
    throw Error(Fault::config, where,
                fmt::format("was measured on {} devices, not on one", c.ranks));
  OneDevice out{.subject = std::move(subject),
                .steps = {},
                .base_batch = c.base_batch,
                .noise = {}};
  for (const BatchRow& row : c.rows)
    if (row.step_s > 0)
      out.steps.push_back({std::llround(row.batch), row.step_s});
  if (out.steps.size() < 2)
    throw Error(Fault::config, where, "has step times of one batch size only");
  const auto noise = noise_for_goodput(c);
  if (!noise)
    throw Error(Fault::config, where,
                "has no noise scale, and its sweep shows no bend",
                "measure it: batch.noise_every");
  out.noise = *noise;
  return out;
}

std::vector<BatchForDevices> best_batches(const OneDevice& m,
                                          const Cluster& cluster,
                                          std::span<const int> devices) {
  Predictor ask(m.subject, cluster, std::nullopt, m.steps);
  const auto at = [&](int n) {
    const std::vector<Tried> tried = tried_on(ask, m, n);
    if (tried.empty())
      throw Error(Fault::config, cluster.name,
                  "not even the smallest batch fits into its memory");
    return row_of(tried, m, n);
  };
  const double one = at(1).goodput;
  std::vector<BatchForDevices> out;
  for (const int n : devices) {
    out.push_back(at(n));
    out.back().speedup = out.back().goodput / one;
  }
  return out;
}

}  // namespace lockstep
