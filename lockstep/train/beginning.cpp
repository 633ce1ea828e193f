// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/beginning.h"

#include <ATen/ATen.h>

#include "lockstep/train/tensor_file.h"

namespace lockstep {

Beginning::Beginning(Session& s)
    : session_(s),
      steps_(s.optimizer.steps()),
      random_(s.device.random_state()) {
  for (const auto& [name, tensor] : state_of(*s.model.module))
    module_.push_back(tensor.clone());
  for (const auto& [name, tensor] : s.optimizer.state())
    optimizer_.push_back(tensor.clone());
}

void Beginning::restore() {
  const at::NoGradGuard no_grad;
  std::size_t i = 0;
  for (const auto& [name, tensor] : state_of(*session_.model.module))
    tensor.copy_(module_[i++]);
  i = 0;
  for (const auto& [name, tensor] : session_.optimizer.state())
    tensor.copy_(optimizer_[i++]);
  session_.optimizer.set_steps(steps_);
  session_.device.set_random_state(random_);
}

}  // namespace lockstep
