// SPDX-License-Identifier: Apache-2.0
// ddp for a training loop of one's own: any module, any loss, torch's
// optimisers. What torch.nn.parallel.DistributedDataParallel is in Python;
// docs/ddp.md has the table of its options and ours.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "lockstep/config/strategy.h"
#include "lockstep/model/module.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

class Group;

class Replica {
 public:
  // Collective: every rank gets rank 0's parameters and buffers. The module is
  // complete and on its device; it and the group outlive the replica. Settings
  // that matter: bucket sizes, hook, sync_batchnorm.
  Replica(torch::nn::Module& module, Group& group,
          const StrategyConfig& config = {});
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Collective. Gradients of `share` times the loss, summed over the ranks in
  // buckets that leave while backward goes on; afterwards they are the same on
  // every rank. A rank's share of the global batch makes the sum the mean,
  // exact when shares are uneven; the default is one rank's of equal shares.
  void backward(const at::Tensor& loss);
  void backward(const at::Tensor& loss, double share);
  // Adds up without sending: all passes of a step but the last.
  void accumulate(const at::Tensor& loss, double share);
  // In place of Optimizer::zero_grad(), which would throw the buckets away.
  void zero_grads();

  const CommPlan& plan() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep
