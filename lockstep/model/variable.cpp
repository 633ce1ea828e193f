// SPDX-License-Identifier: Apache-2.0
// The model of any size and cost; its plan is plan/work_variable.cpp.
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/model/families.h"
#include "lockstep/plan/model_sizes.h"

namespace lockstep {
namespace {

struct DenseBlock final : torch::nn::Module {
  DenseBlock(std::int64_t width, std::int64_t ballast_numel) {
    weight = register_parameter("weight", torch::empty({width, width}));
    torch::nn::init::kaiming_normal_(weight, 0, torch::kFanIn, torch::kReLU);
    if (ballast_numel > 0)
      ballast = register_parameter("ballast", torch::zeros({ballast_numel}));
  }

  // The mean gives every ballast parameter a gradient and costs a sample
  // nothing.
  at::Tensor forward(const at::Tensor& x) {
    if (!ballast.defined()) return at::linear(x, weight).relu_();
    const at::Tensor bias = ballast.mean().expand(weight.size(0));
    return at::linear(x, weight, bias).relu_();
  }

  at::Tensor weight, ballast;
};

struct VariableNet final : torch::nn::Module {
  VariableNet(const VariableSize& s, std::int64_t classes)
      : size(s), head(s.width, classes) {
    auto list = std::make_shared<torch::nn::Module>();
    register_module("blocks", list);
    for (std::int64_t i = 0; i < size.layers; ++i)
      blocks.push_back(list->register_module(
          std::to_string(i),
          std::make_shared<DenseBlock>(size.width, size.ballast_of(i))));
    register_module("head", head);
  }

  // [batch, 12000] or [batch, 1, 12000] -> [batch, classes]
  at::Tensor forward(at::Tensor x) {
    x = x.view({x.size(0), 1, kClipSamples});
    x = std::get<0>(at::adaptive_max_pool1d(x, size.positions * size.width));
    x = x.view({x.size(0), size.positions, size.width});
    for (const auto& block : blocks) x = block->forward(x);
    return head(extra(x.mean(1)));  // from [batch, width]
  }

  // Whole applications of the last matrix, then some of its rows.
  at::Tensor extra(at::Tensor x) {
    const at::Tensor& weight = blocks.back()->weight;
    std::int64_t rows = size.extra_rows;
    for (; rows >= size.width; rows -= size.width)
      x = at::linear(x, weight).relu_();
    if (rows == 0) return x;
    const at::Tensor some = at::linear(x, weight.narrow(0, 0, rows));
    return at::cat({some, x.narrow(1, rows, size.width - rows)}, 1);
  }

  VariableSize size;
  std::vector<std::shared_ptr<DenseBlock>> blocks;
  torch::nn::Linear head;
};

}  // namespace

Model make_variable(const ModelConfig& config) {
  return as_model(
      std::make_shared<VariableNet>(variable_size(config), config.classes));
}

}  // namespace lockstep
