// SPDX-License-Identifier: Apache-2.0
// The modules of the built-in models, one file a family. make_model() chooses;
// every config here has its sizes filled in and checked by its plan.
#pragma once

#include "lockstep/model/model.h"

namespace lockstep {

Model make_linear(const ModelConfig& config);
Model make_conv1d(const ModelConfig& config);
Model make_variable(const ModelConfig& config);
Model make_resnet(const ModelConfig& config);
Model make_mobilenet_v2(const ModelConfig& config);
Model make_vit(const ModelConfig& config);
Model make_gpt(const ModelConfig& config);
Model make_quick(const ModelConfig& config);

// A module whose forward() takes and gives one tensor.
template <class Module>
Model as_model(const std::shared_ptr<Module>& module) {
  return {module, [module](const at::Tensor& x) { return module->forward(x); }};
}

}  // namespace lockstep
