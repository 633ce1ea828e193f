// SPDX-License-Identifier: Apache-2.0
// LARS (You et al. 2017) and LAMB (You et al. 2020): each tensor's step in
// proportion to its own norm, so that none runs away in a large batch.
// Normalisation and bias parameters take the plain step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "lockstep/config/optim.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {

// One tensor in the flat buffer.
struct LayerRun {
  std::int64_t begin = 0, numel = 0;
  double weight_decay = 0;
  bool adapt = false;
  bool zero = true;  // gradients must be zero in memory afterwards
};

struct LayerStep {
  at::Tensor first, second;  // [numel]; undefined where the rule has none
  double lr = 0, grad_scale = 1;
  std::int64_t step = 1;  // 1 for the first update
};

// On the CPU through fused kernels, with norms in double in an order that no
// number of threads changes. On a GPU through plain tensor operations: about
// ten passes over memory, nothing waits, norms in fp32.
class Layerwise {
 public:
  // `params` must outlive it.
  Layerwise(const OptimConfig& config, FlatParams& params);

  // The learning rate stays outside of the momentum, so a change of it needs
  // no correction.
  void step(const LayerStep& step);
  // The same by tensor operations, on any device.
  void step_plain(const LayerStep& step);

 private:
  std::vector<LayerRun> runs() const;
  void lars_plain(const LayerStep& step, const at::Tensor& grads);
  void lamb_plain(const LayerStep& step, const at::Tensor& grads);
  // The norm of each tensor's part of a flat one.
  at::Tensor norms_of(const at::Tensor& flat) const;
  // A number of each tensor, to each of its elements.
  at::Tensor spread(const at::Tensor& of_tensor) const;

  OptimConfig config_;
  FlatParams& params_;
  at::Tensor counts_, adapt_, decay_;  // of each tensor, on the device
};

// The factor of a tensor's rate: LARS from the norms of its values and
// gradient, LAMB from those of its values and step. 1 where either is 0.
double lars_trust(const OptimConfig& config, double lr, double values,
                  double gradient, double weight_decay);
double lamb_trust(const OptimConfig& config, double values, double step);

}  // namespace lockstep
