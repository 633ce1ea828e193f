// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/memory.h"

#include <algorithm>
#include <cmath>

#include "lockstep/hardware/cluster.h"

namespace lockstep {
namespace {

// Peak memory is a constant and a part for each sample: a line through the
// first and the last batch that was measured.
struct Line {
  double fixed_bytes = 0, sample_bytes = 0;
};

Line line_of(const Profile& p) {
  const double b0 = double(p.batches.front()), b1 = double(p.batches.back());
  const double m0 = p.memory_bytes.front(), m1 = p.memory_bytes.back();
  const double slope = std::max(0.0, (m1 - m0) / (b1 - b0));
  return {.fixed_bytes = std::max(0.0, m0 - slope * b0), .sample_bytes = slope};
}

// What a gradient hook holds beside the gradients: them in 16 bits, or what it
// kept back; and the parameters that local_sgd counts changes from.
double hook_bytes(const Workload& work, const Question& q) {
  if (q.strategy.hook == HookKind::none) return 0;
  const auto params = static_cast<double>(work.params.bytes());
  const bool cast =
      q.strategy.hook == HookKind::bf16 || q.strategy.hook == HookKind::fp16;
  return (cast ? params / 2 : params) +
         (q.method == Method::local_sgd ? params : 0);
}

// What the strategy adds to or takes from one device's share.
double strategy_bytes(const Workload& work, const Question& q) {
  const Profile& p = work.profile;
  const auto params = static_cast<double>(work.params.bytes());
  const double n = q.ranks;
  if (q.ranks == 1) return 0;
  switch (q.method) {
    case Method::sharded:
      return hook_bytes(work, q) - p.optimizer_bytes * (1 - 1 / n);
    case Method::ddp:
      return hook_bytes(work, q) +
             static_cast<double>(q.strategy.bucket_bytes) +
             q.software.bucket_copies / 2.0 * params;
    case Method::data_parallel:  // device 0 gathers all outputs
      return hook_bytes(work, q) +
             p.output_bytes * static_cast<double>(q.global_batch());
    case Method::local_sgd:
      return hook_bytes(work, q);
    case Method::model_parallel:
    case Method::single:
      return 0;
  }
  return 0;
}

}  // namespace

MemoryFit memory_fit(const Workload& work, const Cluster& cluster,
                     const Question& q) {
  const Profile& p = work.profile;
  MemoryFit out{.known = !p.memory_bytes.empty(),
                .have_bytes = kUsableMemory *
                              static_cast<double>(cluster.device.memory_bytes)};
  if (!out.known) return out;
  Line line = line_of(p);
  line.fixed_bytes = std::max(0.0, line.fixed_bytes + strategy_bytes(work, q));
  if (q.method == Method::model_parallel) {
    // Parameters and layers are shared out; all micro-batches are in flight.
    line.fixed_bytes /= q.ranks;
    line.sample_bytes *= static_cast<double>(q.accumulate) / q.ranks;
  }
  out.need_bytes = line.fixed_bytes +
                   line.sample_bytes * static_cast<double>(q.rank_batch());
  const double room = out.have_bytes - line.fixed_bytes;
  if (room > 0 && line.sample_bytes > 0)
    out.largest_batch =
        static_cast<std::int64_t>(std::min(room / line.sample_bytes, 1e15));
  return out;
}

}  // namespace lockstep
