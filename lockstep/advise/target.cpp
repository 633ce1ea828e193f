// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

const TargetReached& nearest_batch(const TargetEvidence& evidence,
                                   double batch) {
  return *std::ranges::min_element(evidence.batches, {},
                                   [&](const TargetReached& r) {
                                     return std::abs(std::log(r.batch / batch));
                                   });
}

std::vector<std::int64_t> measured(const TargetEvidence& evidence) {
  std::vector<std::int64_t> out;
  for (const TargetReached& r : evidence.batches)
    out.push_back(static_cast<std::int64_t>(r.batch));
  return out;
}

}  // namespace

std::vector<std::int64_t> batches_around(std::int64_t base) {
  std::vector<std::int64_t> out;
  for (std::int64_t b = std::max<std::int64_t>(1, base / 8); b <= base * 64;
       b *= 2)
    out.push_back(b);
  return out;
}

Goal to_target(Goal goal, double near) {
  const TargetEvidence& evidence = goal.evidence.value();
  const TargetReached& base = nearest_batch(evidence, near);
  goal.base_batch = base.batch;
  goal.samples = base.samples;
  if (goal.base_lr <= 0) goal.base_lr = base.lr;
  if (goal.noise_scale > 0) return goal;
  goal.noise_scale = evidence.noise_scale;
  if (evidence.noise_fitted)
    goal.samples =
        evidence.min_examples * (1 + base.batch / evidence.noise_scale);
  return goal;
}

std::vector<std::int64_t> target_batches(
    const Goal& goal, const std::vector<std::int64_t>& asked) {
  const TargetEvidence& evidence = goal.evidence.value();
  if (goal.noise_scale > 0)
    return asked.empty()
               ? batches_around(static_cast<std::int64_t>(goal.base_batch))
               : asked;
  for (const std::int64_t batch : asked)
    if (!evidence.at(static_cast<double>(batch)))
      throw Error(
          Fault::config, goal.evidence_from,
          fmt::format("reached {:.4g} at batch {}; how many samples it takes "
                      "at batch {} is not known",
                      evidence.accuracy, fmt::join(measured(evidence), ", "),
                      batch),
          "--noise-scale, --batch with one of those, or a study of three "
          "batch sizes or more");
  return asked.empty() ? measured(evidence) : asked;
}

}  // namespace lockstep
