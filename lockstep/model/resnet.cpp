// SPDX-License-Identifier: Apache-2.0
// ResNets with torchvision's names and its way of drawing weights: layers are
// made in torchvision's order, so the same seed gives the same weights. The
// plan is plan/work_resnet.cpp.
#include <torch/nn/init.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/kernels/max_pool.h"
#include "lockstep/model/batch_norm.h"
#include "lockstep/model/families.h"
#include "lockstep/model/layers.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

using torch::nn::Conv2d;
using torch::nn::Sequential;

Conv2d resnet_conv(std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride) {
  return Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                    .stride(stride)
                    .padding(kernel / 2)
                    .bias(false));
}

struct BlockSize {
  std::int64_t in, planes, stride;
  bool bottleneck;
  std::int64_t out() const { return bottleneck ? 4 * planes : planes; }
};

Sequential make_shortcut(const BlockSize& s) {
  if (s.stride == 1 && s.in == s.out()) return nullptr;
  return Sequential(resnet_conv(s.in, s.out(), 1, s.stride),
                    BatchNorm2d(s.out()));
}

struct ResidualBlock final : torch::nn::Module {
  ResidualBlock(const BlockSize& s, const Sequential& shortcut)
      : downsample(shortcut) {
    if (s.bottleneck) {
      add(resnet_conv(s.in, s.planes, 1, 1), s.planes);
      add(resnet_conv(s.planes, s.planes, 3, s.stride), s.planes);
      add(resnet_conv(s.planes, s.out(), 1, 1), s.out());
    } else {
      add(resnet_conv(s.in, s.planes, 3, s.stride), s.planes);
      add(resnet_conv(s.planes, s.planes, 3, 1), s.planes);
    }
    if (!downsample.is_empty()) register_module("downsample", downsample);
  }

  void add(const Conv2d& layer, std::int64_t out) {
    const std::string n = std::to_string(convs.size() + 1);
    convs.push_back(register_module("conv" + n, layer));
    norms.push_back(register_module("bn" + n, BatchNorm2d(out)));
  }

  at::Tensor forward(at::Tensor in) {
    at::Tensor x = in;
    for (std::size_t i = 0; i + 1 < convs.size(); ++i)
      x = norm_activation(norms[i], convolve(convs[i], x), Activation::relu);
    x = convolve(convs.back(), x);
    return norm_activation(norms.back(), x, Activation::relu,
                           [&] { return shortcut(in); });
  }

  at::Tensor shortcut(const at::Tensor& in) {
    if (downsample.is_empty()) return in;
    Conv2d layer(std::dynamic_pointer_cast<Conv2d::Impl>(downsample->ptr(0)));
    const auto norm =
        std::dynamic_pointer_cast<BatchNorm2d::Impl>(downsample->ptr(1));
    return norm_activation(norm, convolve(layer, in), Activation::none);
  }

  std::vector<Conv2d> convs;
  std::vector<BatchNorm2d> norms;
  Sequential downsample;
};

struct ResNet final : torch::nn::Module {
  ResNet(const ResNetSize& size, std::int64_t classes)
      : cifar(size.cifar),
        conv1(size.cifar ? resnet_conv(3, 64, 3, 1) : resnet_conv(3, 64, 7, 2)),
        bn1(64) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    BlockSize s{
        .in = 64, .planes = 64, .stride = 1, .bottleneck = size.bottleneck};
    for (std::size_t stage = 0; stage < size.blocks.size(); ++stage) {
      auto list = std::make_shared<torch::nn::Module>();
      register_module("layer" + std::to_string(stage + 1), list);
      for (std::int64_t i = 0; i < size.blocks[stage]; ++i) {
        s.stride = stage > 0 && i == 0 ? 2 : 1;
        const Sequential shortcut = make_shortcut(s);
        blocks.push_back(list->register_module(
            std::to_string(i), std::make_shared<ResidualBlock>(s, shortcut)));
        s.in = s.out();
      }
      s.planes *= 2;
    }
    fc = register_module("fc", torch::nn::Linear(s.in, classes));
  }

  // [batch, 3, side, side] -> [batch, classes]
  at::Tensor forward(at::Tensor x) {
    x = norm_activation(bn1, convolve(conv1, x), Activation::relu);
    if (!cifar) x = max_pool(x, kResNetPool);
    for (const auto& block : blocks) x = block->forward(x);
    return fc(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  bool cifar;
  Conv2d conv1;
  BatchNorm2d bn1;
  std::vector<std::shared_ptr<ResidualBlock>> blocks;
  torch::nn::Linear fc{nullptr};
};

}  // namespace

Model make_resnet(const ModelConfig& config) {
  auto net = std::make_shared<ResNet>(resnet_size(config.kind), config.classes);
  for (const auto& module : net->modules())
    if (auto* c = module->as<torch::nn::Conv2dImpl>())
      torch::nn::init::kaiming_normal_(c->weight, 0, torch::kFanOut,
                                       torch::kReLU);
  if (config.zero_gamma)
    for (const auto& block : net->blocks)
      torch::nn::init::zeros_(block->norms.back()->weight);
  return as_model(net);
}

}  // namespace lockstep
