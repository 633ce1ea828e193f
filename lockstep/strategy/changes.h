// SPDX-License-Identifier: Apache-2.0
// What ranks of local_sgd send each other under a gradient hook: how far their
// parameters moved since all ranks held the same (Qsparse-local-SGD: Basu,
// Data, Karakus, Diggavi 2019). A hook makes changes smaller as it does
// gradients; of parameters themselves it would leave out too much.
#pragma once

#include "lockstep/strategy/grad_hook.h"

namespace lockstep {

class Changes {
 public:
  // `averaging` is the plan of a step that averages; all of it outlives this.
  Changes(const StrategyContext& context, const CommPlan& averaging,
          Messages& messages);

  // All ranks hold the same parameters: changes count from here.
  void begin();
  // Collective, after the update: until every rank holds the mean, as far as
  // the hook keeps it. The flat gradients carry the changes; they are zero
  // again afterwards.
  void average();

  const GradHook& hook() const { return hook_; }
  // As Strategy's, under names of its own.
  void save(StrategyState& state);
  void load(const StrategyState& state);

 private:
  FlatParams& params_;
  double parts_;  // of a mean
  std::size_t num_buckets_;
  GradHook hook_;
  at::Tensor anchor_;  // [numel], what all ranks held last
};

// How many ranks' parts make a mean. Those that are only emulated would hold
// the same: there a rank's own is the mean already.
double parts_of_mean(const Group& group);

}  // namespace lockstep
