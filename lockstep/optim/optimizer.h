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

  // One update with this learning rate from the gradients as they are, then
  // the gradients are zero. One pass over memory.
  void step(double lr);

  // What a checkpoint holds: the flat state tensors by name and the step count.
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
