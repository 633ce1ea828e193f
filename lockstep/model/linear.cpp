// SPDX-License-Identifier: Apache-2.0
// The fully connected model; its plan is plan/work_linear.cpp.
#include <torch/nn/modules/linear.h>

#include "lockstep/kernels/linear.h"
#include "lockstep/model/families.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

struct LinearNet final : torch::nn::Module {
  explicit LinearNet(std::int64_t classes)
      : fc1(kClipSamples, kLinearWidths[0]),
        fc2(kLinearWidths[0], kLinearWidths[1]),
        fc3(kLinearWidths[1], kLinearWidths[2]),
        fc4(kLinearWidths[2], classes) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
    register_module("fc4", fc4);
  }

  // [batch, 12000] or [batch, 1, 12000] -> [batch, classes]
  at::Tensor forward(at::Tensor x) {
    x = linear(x.flatten(1), fc1->weight, fc1->bias).relu_();
    x = linear(x, fc2->weight, fc2->bias).relu_();
    x = linear(x, fc3->weight, fc3->bias).sigmoid_();
    return linear(x, fc4->weight, fc4->bias);
  }

  torch::nn::Linear fc1, fc2, fc3, fc4;
};

}  // namespace

Model make_linear(const ModelConfig& config) {
  return as_model(std::make_shared<LinearNet>(config.classes));
}

}  // namespace lockstep
