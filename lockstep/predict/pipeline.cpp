// SPDX-License-Identifier: Apache-2.0
// Layers split over devices, priced as a pipeline (GPipe): m micro-batches
// over n stages take (m + n - 1) times the slowest stage.
#include <algorithm>
#include <numeric>

#include "lockstep/predict/step_plan.h"

namespace lockstep {
namespace {

// Stages needed when none may take longer than `limit`.
int stages_for(const std::vector<double>& times, double limit) {
  int stages = 1;
  double sum = 0;
  for (const double t : times) {
    if (sum + t > limit && sum > 0) ++stages, sum = 0;
    sum += t;
  }
  return stages;
}

// The smallest slowest stage of a split into at most `stages` pieces.
double slowest_stage_s(const std::vector<double>& times, int stages) {
  double low = *std::ranges::max_element(times);
  double high = std::accumulate(times.begin(), times.end(), 0.0);
  for (int i = 0; i < 50 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (stages_for(times, middle) <= stages ? high : low) = middle;
  }
  return high;
}

// The most one sample leaves at the end of a stage: where the cuts fall is
// chosen by time, so the largest of the median half of layers stands in.
double boundary_bytes(const Profile& p) {
  std::vector<double> bytes;
  for (const ProfileLayer& l : p.layers) bytes.push_back(l.output_bytes);
  const auto middle =
      bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2);
  std::nth_element(bytes.begin(), middle, bytes.end());
  return *middle;
}

}  // namespace

StepPlan plan_pipeline(const Workload& work, const Cluster& cluster,
                       const Fabric& fabric, const Question& q) {
  const auto batch = static_cast<double>(q.rank_batch());
  const std::vector<double> times = layer_times(work, batch);
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  const double stage_s = slowest_stage_s(times, q.ranks);
  const double m = q.accumulate, n = q.ranks;
  StepPlan out{.ranks = 1,  // stages hand over, they do not wait for a maximum
               .passes = 1,
               .forward_s = m * all / n,
               .optimizer_s = work.optimizer_s() / n,
               .overhead_s = overhead_at(work, batch) + m * q.software.step_s};
  out.bubble_s = (m + n - 1) * stage_s - m * all / n;
  // Each micro-batch crosses a boundary forward and back; only those that
  // fill and drain the pipeline wait for it.
  const CollectiveCost hop =
      collective_cost(fabric, Collective::broadcast,
                      batch * boundary_bytes(work.profile), Algorithm::star);
  const double crossings = 2 * (m + n - 2) / (n - 1);
  out.serial_latency_s = crossings * hop.latency_s;
  out.serial_transfer_s = crossings * hop.transfer_s;
  const double host = cluster.device.host_bytes_per_s;
  if (host > 0) out.input_s = m * batch * work.profile.input_bytes / host;
  return out;
}

}  // namespace lockstep
