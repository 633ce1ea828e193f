// SPDX-License-Identifier: Apache-2.0
// Where a run begins, to come back to after steps that do not count. Values are
// put back where they were taken from: what was captured goes on reading and
// writing the same memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "lockstep/train/session.h"

namespace lockstep {

// Weights, buffers, optimiser and random state.
class Beginning {
 public:
  // `session` must outlive it.
  explicit Beginning(Session& session);
  void restore();

 private:
  Session& session_;
  std::vector<at::Tensor> module_, optimizer_;
  std::int64_t steps_;
  at::Tensor random_;
};

}  // namespace lockstep
