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
struct UpdateArgs;

// A part of the flat parameters, and where its state begins in the state.
struct OwnedRange {
  std::int64_t begin = 0, numel = 0, state_begin = 0;
};

class Optimizer {
 public:
  // `params` and `device` must outlive the optimiser.
  Optimizer(const OptimConfig& config, FlatParams& params, Device& device);

  // One update with this learning rate from the gradients times `grad_scale`
  // (clipping, means over accumulated passes); then the gradients count as
  // zero. One pass over memory.
  void step(double lr, double grad_scale = 1);

  // From now on step() updates these ranges only, and state is kept for them
  // alone. In rising order; call it before the first step.
  void own(std::vector<OwnedRange> ranges);
  bool owns_all() const { return owned_.empty(); }

  // The same in two parts, for a step that is captured and replayed: the first
  // runs before each replay and leaves the learning rate and the step's number
  // on the device, the second is captured. Clips to `clip_norm`; 0: never.
  void begin_step(double lr);
  void end_step(double clip_norm);

  // What a checkpoint holds: the flat state tensors by torch.optim's names and
  // the step count. The tensors are the state, not copies: load into them.
  std::vector<std::pair<std::string, at::Tensor>> state();
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  void make_state();
  UpdateArgs whole_update() const;
  void update(const UpdateArgs& args);
  void update_owned(UpdateArgs args);

  OptimConfig config_;
  FlatParams& params_;
  Device& device_;
  std::vector<OwnedRange> owned_;  // empty: everything
  at::Tensor first_, second_;      // momentum or mean; square
  at::Tensor rates_;               // of a captured step, see UpdateArgs
  std::int64_t steps_ = 0;
};

}  // namespace lockstep
