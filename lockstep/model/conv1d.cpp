// SPDX-License-Identifier: Apache-2.0
// The convolutional model over waveforms; its plan is plan/work_conv1d.cpp.
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/kernels/conv1d.h"
#include "lockstep/kernels/linear.h"
#include "lockstep/model/families.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

struct Conv1dNet final : torch::nn::Module {
  explicit Conv1dNet(std::int64_t classes) {
    std::int64_t channels = 1, length = kClipSamples;
    for (const Conv1dStage& s : kConv1dStages) {
      convs.emplace_back(torch::nn::Conv1dOptions(channels, s.kernels, s.width)
                             .padding(s.padding));
      register_module("conv" + std::to_string(convs.size()), convs.back());
      channels = s.kernels;
      length = (length + 2 * s.padding - s.width + 1) / s.pool;
    }
    fc1 = register_module("fc1",
                          torch::nn::Linear(channels * length, kConv1dHidden));
    fc2 = register_module("fc2", torch::nn::Linear(kConv1dHidden, classes));
  }

  // [batch, 12000] or [batch, 1, 12000] -> [batch, classes]
  at::Tensor forward(at::Tensor x) {
    x = x.view({x.size(0), 1, kClipSamples});
    for (std::size_t i = 0; i < convs.size(); ++i) {
      const Conv1dStage& s = kConv1dStages[i];  // -> [batch, kernels, length]
      x = conv1d_relu_max_pool1d(x, convs[i]->weight, convs[i]->bias, s.padding,
                                 s.pool);
    }
    x = linear(x.flatten(1), fc1->weight, fc1->bias).sigmoid_();
    return linear(x, fc2->weight, fc2->bias);
  }

  std::vector<torch::nn::Conv1d> convs;
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

}  // namespace

Model make_conv1d(const ModelConfig& config) {
  return as_model(std::make_shared<Conv1dNet>(config.classes));
}

}  // namespace lockstep
