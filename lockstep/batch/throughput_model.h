// SPDX-License-Identifier: Apache-2.0
// Step time over batch size, ranks and nodes at once: the seven-parameter
// model of Pollux (Qiao et al., OSDI 2021) and its fit to measured steps.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

struct Placement {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
};

// Seconds. Gradient a + b m; messages a + b (ranks - 2) within or across nodes.
struct ThroughputModel {
  double compute_fixed_s = 0.1, compute_per_sample_s = 0.01;
  double node_fixed_s = 0.1, node_per_rank_s = 0.01;    // several nodes
  double local_fixed_s = 0.1, local_per_rank_s = 0.01;  // one node
  double overlap = 1.001;  // 1: messages wait; 10: nearly all hidden

  double gradient_s(double per_rank_batch) const;
  double messages_s(Placement where) const;
  double step_s(double per_rank_batch, Placement where) const;
  // Examples a second; `accumulate` further passes without messages.
  double throughput(double per_rank_batch, Placement where,
                    std::int64_t accumulate = 0) const;
};

struct MeasuredStep {
  Placement where;
  double per_rank_batch = 0;
  double step_s = 0;
  double sync_s = 0;  // part of step_s spent waiting for messages
};

struct ThroughputFit {
  ThroughputModel model;
  double objective = 0;  // as published, constants of unused priors removed
  double median_relative_error = 0, p95_relative_error = 0;
};

// Minimises RMSE(ln gradient) + RMSE(ln step) + priors by L-BFGS. Parts that no
// measurement speaks of stay at zero (1e-8 s). Error{Fault::data} for fewer
// than two measurements or a number that is not positive.
ThroughputFit fit_throughput(std::span<const MeasuredStep> steps);

}  // namespace lockstep
