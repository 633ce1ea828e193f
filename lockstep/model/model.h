// SPDX-License-Identifier: Apache-2.0
// The built-in models as LibTorch modules. Parameter names are torchvision's,
// PyTorch's or Hugging Face's, so weights move both ways.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "lockstep/config/model.h"
#include "lockstep/model/module.h"

namespace lockstep {

// A module and how to call it. A user's own module fits in as well:
//   Model{m, [m](at::Tensor x) { return m->forward(x); }}
struct Model {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(at::Tensor)> forward;  // [batch, …] -> logits
};

// Weights are drawn from torch's default generator, as PyTorch draws them.
// `classes` of the config must be set.
Model make_model(const ModelConfig& config);

// Mean cross-entropy of logits [batch, classes] against class indices, or of
// [batch, context, vocab] against tokens.
at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& targets,
                   double label_smoothing);

}  // namespace lockstep
