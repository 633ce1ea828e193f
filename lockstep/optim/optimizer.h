// SPDX-License-Identifier: Apache-2.0
// One update rule over flat parameters, chosen by the settings. State is flat
// too, so a checkpoint saves it as a handful of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/config/optim.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {

class Device;

class Optimizer {
 public:
  // `params` and `device` must outlive the optimiser.
  Optimizer(const OptimConfig& config, FlatParams& params, Device& device);

  // One update with this learning rate from the gradients times `grad_scale`
  // (clipping, means over accumulated passes); then the gradients count as
  // zero. One pass over memory.
  void step(double lr, double grad_scale = 1);

  // What a checkpoint holds: the flat state tensors by torch.optim's names and
  // the step count. The tensors are the state, not copies: load into them.
  std::vector<std::pair<std::string, at::Tensor>> state();
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  OptimConfig config_;
  FlatParams& params_;
  Device& device_;
  at::Tensor first_, second_;  // momentum or mean; square
  std::int64_t steps_ = 0;
};

}  // namespace lockstep
