// SPDX-License-Identifier: Apache-2.0
// MobileNetV2 with torchvision's names and its way of drawing weights. The plan
// is plan/work_mobilenet_v2.cpp.
#include <torch/nn/init.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/model/batch_norm.h"
#include "lockstep/model/families.h"
#include "lockstep/model/layers.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

using torch::nn::Conv2d;

struct ConvSize {
  std::int64_t in, out, kernel = 1, stride = 1, groups = 1;
};

Conv2d conv(const ConvSize& s) {
  return Conv2d(torch::nn::Conv2dOptions(s.in, s.out, s.kernel)
                    .stride(s.stride)
                    .padding(s.kernel / 2)
                    .groups(s.groups)
                    .bias(false));
}

struct ConvNormRelu6 final : torch::nn::Module {
  explicit ConvNormRelu6(const ConvSize& s) : layer(conv(s)), norm(s.out) {
    register_module("0", layer);
    register_module("1", norm);
  }
  at::Tensor forward(const at::Tensor& x) {
    return norm_activation(norm, convolve(layer, x), Activation::relu6);
  }

  Conv2d layer;
  BatchNorm2d norm;
};

struct InvertedResidual final : torch::nn::Module {
  InvertedResidual(std::int64_t in, std::int64_t stride,
                   const MobileNetStage& s)
      : residual(stride == 1 && in == s.channels) {
    auto list = std::make_shared<torch::nn::Module>();
    register_module("conv", list);
    int part = 0;
    const auto next = [&] { return std::to_string(part++); };
    const std::int64_t hidden = in * s.expand;
    const auto push = [&](const ConvSize& size) {
      wide.push_back(
          list->register_module(next(), std::make_shared<ConvNormRelu6>(size)));
    };
    if (s.expand != 1) push({.in = in, .out = hidden});
    push({.in = hidden,
          .out = hidden,
          .kernel = 3,
          .stride = stride,
          .groups = hidden});
    narrow =
        list->register_module(next(), conv({.in = hidden, .out = s.channels}));
    norm = list->register_module(next(), BatchNorm2d(s.channels));
  }

  at::Tensor forward(at::Tensor in) {
    at::Tensor x = in;
    for (const auto& layer : wide) x = layer->forward(x);
    return norm_activation(norm, convolve(narrow, x), Activation::none,
                           [&] { return residual ? in : at::Tensor(); });
  }

  bool residual;
  std::vector<std::shared_ptr<ConvNormRelu6>> wide;
  Conv2d narrow{nullptr};
  BatchNorm2d norm{nullptr};
};

struct MobileNetV2 final : torch::nn::Module {
  explicit MobileNetV2(std::int64_t classes) {
    using torch::nn::Sequential;
    std::int64_t in = kMobileNetV2Stem;
    features->push_back(
        ConvNormRelu6({.in = 3, .out = in, .kernel = 3, .stride = 2}));
    for (const MobileNetStage& s : kMobileNetV2Stages) {
      for (std::int64_t i = 0; i < s.repeat; ++i) {
        features->push_back(InvertedResidual(in, i == 0 ? s.stride : 1, s));
        in = s.channels;
      }
    }
    features->push_back(ConvNormRelu6({.in = in, .out = kMobileNetV2Last}));
    classifier = Sequential(torch::nn::Dropout(kMobileNetV2Dropout),
                            torch::nn::Linear(kMobileNetV2Last, classes));
    register_module("features", features);
    register_module("classifier", classifier);
  }

  // [batch, 3, side, side] -> [batch, classes]
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = at::adaptive_avg_pool2d(features->forward(x), {1, 1});
    return classifier->forward(y.flatten(1));
  }

  torch::nn::Sequential features, classifier;
};

}  // namespace

Model make_mobilenet_v2(const ModelConfig& config) {
  auto net = std::make_shared<MobileNetV2>(config.classes);
  for (const auto& module : net->modules()) {
    if (auto* c = module->as<torch::nn::Conv2dImpl>())
      torch::nn::init::kaiming_normal_(c->weight, 0, torch::kFanOut,
                                       torch::kReLU);
    if (auto* l = module->as<torch::nn::LinearImpl>()) {
      torch::nn::init::normal_(l->weight, 0, 0.01);
      torch::nn::init::zeros_(l->bias);
    }
    if (auto* inverted = module->as<InvertedResidual>();
        inverted != nullptr && config.zero_gamma && inverted->residual)
      torch::nn::init::zeros_(inverted->norm->weight);
  }
  return as_model(net);
}

}  // namespace lockstep
