// SPDX-License-Identifier: Apache-2.0
// One pass over a model, cut into its layers by what autograd knows: forward by
// the number of the graph node an operation makes, backward by the node that
// begins. A layer is a module with parameters; operations without any belong
// to the layer before them, so that layers add up to the whole pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lockstep/measure/time_source.h"

namespace lockstep {

struct LayerTimes {
  std::vector<double> forward_s, backward_s;  // one a layer
  // After the last layer: the loss, and operations of the model that use
  // weights of another layer again (a tied head).
  double loss_forward_s = 0, loss_backward_s = 0;
  // Parameters in the order in which backward fills their gradients.
  std::vector<std::size_t> gradient_order;
};

class LayerClock {
 public:
  // `layer_of` names the layer of each parameter.
  LayerClock(std::vector<at::Tensor> params, std::vector<std::size_t> layer_of,
             std::size_t num_layers, TimeSource source);

  // Runs forward() and then backward of loss(its answer). Gradients add up as
  // they always do; every mark of the time source is read and forgotten.
  LayerTimes pass(
      const std::function<at::Tensor()>& forward,
      const std::function<at::Tensor(const at::Tensor&)>& loss) const;

 private:
  std::vector<at::Tensor> params_;
  std::vector<std::size_t> layer_of_;
  std::size_t num_layers_;
  TimeSource source_;
};

}  // namespace lockstep
