// SPDX-License-Identifier: Apache-2.0
// A small net for 32 px images that learns in few steps, after the published
// speed runs on CIFAR-10. The plan is plan/work_quick.cpp; model/whiten.h fills
// in a stem that is not trained.
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "lockstep/kernels/max_pool.h"
#include "lockstep/model/batch_norm.h"
#include "lockstep/model/families.h"
#include "lockstep/model/layers.h"
#include "lockstep/model/token_layers.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

using torch::nn::Conv2d;

// Biases of BatchNorm learn 64 times as fast as weights (Jordan 2024): stored
// as an eighth and used eight times, so both the gradient and the step grow by
// eight, and their decay stays what it is.
constexpr double kBiasScale = 8;
// Statistics forget within a few steps; there are only hundreds.
constexpr double kMomentum = 0.4;

Conv2d dirac_conv(std::int64_t in, std::int64_t out) {
  Conv2d layer(torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false));
  // The first outputs begin as copies of the inputs.
  const torch::NoGradGuard no_grad;
  torch::nn::init::dirac_(layer->weight.narrow(0, 0, std::min(in, out)));
  return layer;
}

BatchNorm2d norm(std::int64_t width) {
  return BatchNorm2d(
      torch::nn::BatchNorm2dOptions(width).affine(false).momentum(kMomentum));
}

// The bias of a BatchNorm, divided by kBiasScale.
struct Shift final : torch::nn::Module {
  explicit Shift(std::int64_t width)
      : bias(register_parameter("bias", torch::zeros({width}))) {}
  at::Tensor bias;
};

// [batch, 3, side, side] -> [batch, 24, side - 1, side - 1]
struct Stem final : torch::nn::Module {
  explicit Stem(bool frozen) {
    Conv2d drawn(torch::nn::Conv2dOptions(3, kQuickStem, kQuickStemKernel));
    const at::Tensor from = drawn->weight.detach();
    weight = frozen ? register_buffer("weight", from)
                    : register_parameter("weight", from);
    bias = register_parameter("bias", torch::zeros({kQuickStem}));
  }

  at::Tensor forward(const at::Tensor& x) {
    if (!takes_direct_conv2d(x, weight))
      return at::gelu(at::conv2d(x, weight, bias));
    // As rows of channels, which is how they lie in memory.
    const Product rows{conv2d_direct(x, weight, /*stride=*/1, /*padding=*/0)
                           .permute({0, 2, 3, 1}),
                       bias};
    return gelu(rows, Gelu::erf).permute({0, 3, 1, 2});
  }

  at::Tensor weight, bias;
};

// Halves the side of the image.
struct ConvGroup final : torch::nn::Module {
  ConvGroup(std::int64_t in, std::int64_t out)
      : conv1(register_module("conv1", dirac_conv(in, out))),
        norm1(register_module("norm1", norm(out))),
        shift1(register_module("shift1", std::make_shared<Shift>(out))),
        conv2(register_module("conv2", dirac_conv(out, out))),
        norm2(register_module("norm2", norm(out))),
        shift2(register_module("shift2", std::make_shared<Shift>(out))) {}

  at::Tensor forward(at::Tensor x) {
    x = max_pool(convolve(conv1, x), kPool2x2);
    x = norm_shift_gelu(norm1, x, shift1->bias, kBiasScale);
    x = convolve(conv2, x);
    return norm_shift_gelu(norm2, x, shift2->bias, kBiasScale);
  }

  Conv2d conv1;
  BatchNorm2d norm1;
  std::shared_ptr<Shift> shift1;
  Conv2d conv2;
  BatchNorm2d norm2;
  std::shared_ptr<Shift> shift2;
};

struct Quick final : torch::nn::Module {
  Quick(const ModelConfig& config, std::int64_t features)
      : stem(register_module("stem", std::make_shared<Stem>(config.whiten))) {
    std::int64_t in = kQuickStem;
    for (const std::int64_t width : kQuickWidths) {
      const std::string name = "group" + std::to_string(groups.size() + 1);
      groups.push_back(
          register_module(name, std::make_shared<ConvGroup>(in, width)));
      in = width;
    }
    fc = register_module(
        "fc",
        torch::nn::Linear(
            torch::nn::LinearOptions(features, config.classes).bias(false)));
  }

  at::Tensor forward(at::Tensor x) {
    x = stem->forward(x);
    for (const auto& group : groups) x = group->forward(x);
    x = connect(max_pool(x, kPool3x3).flatten(1), fc->weight, {});
    // Eight bits are too few to be scaled and then compared.
    if (x.scalar_type() == at::kBFloat16) x = x.to(at::kFloat);
    return x * kQuickLogitScale;
  }

  std::shared_ptr<Stem> stem;
  std::vector<std::shared_ptr<ConvGroup>> groups;
  torch::nn::Linear fc{nullptr};
};

// What the last pooling leaves of an image.
std::int64_t features_of(std::int64_t side) {
  side = side - kQuickStemKernel + 1;
  for (std::size_t i = 0; i < kQuickWidths.size(); ++i) side /= 2;
  side /= 3;
  return kQuickWidths.back() * side * side;
}

}  // namespace

Model make_quick(const ModelConfig& config) {
  return as_model(
      std::make_shared<Quick>(config, features_of(config.image_px)));
}

}  // namespace lockstep
