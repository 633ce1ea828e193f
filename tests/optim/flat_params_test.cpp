// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/flat_params.h"

#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

torch::nn::Sequential small_net() {
  torch::manual_seed(3);
  return torch::nn::Sequential(torch::nn::Conv2d(2, 3, 3),
                               torch::nn::BatchNorm2d(3), torch::nn::Flatten(),
                               torch::nn::Linear(12, 5));
}

at::Tensor loss_of(torch::nn::Sequential& net) {
  return net->forward(torch::linspace(-1, 1, 64).reshape({2, 2, 4, 4}))
      .square()
      .mean();
}

TEST(FlatParams, HoldsEveryParameterInOrderWithoutGaps) {
  auto net = small_net();
  std::vector<at::Tensor> before;
  for (const auto& p : net->parameters()) before.push_back(p.detach().clone());
  FlatParams flat(*net);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < flat.slices().size(); ++i) {
    const Slice& slice = flat.slices()[i];
    EXPECT_EQ(slice.begin, begin);
    EXPECT_EQ(slice.name, net->named_parameters().keys()[i]);
    EXPECT_TRUE(torch::equal(
        flat.values().narrow(0, begin, slice.numel).view_as(before[i]),
        before[i]));
    begin += slice.numel;
  }
  EXPECT_EQ(begin, flat.values().numel());
  EXPECT_EQ(begin, flat.grads().numel());
}

TEST(FlatParams, KnowsNormsAndBiases) {
  auto net = small_net();
  std::vector<std::string> skipped;
  const FlatParams flat(*net);
  for (const Slice& s : flat.slices())
    if (s.norm_or_bias) skipped.push_back(s.name);
  EXPECT_EQ(skipped, (std::vector<std::string>{"0.bias", "1.weight", "1.bias",
                                               "3.bias"}));
}

TEST(FlatParams, BackwardFillsTheFlatGradientInPlaceEachTime) {
  auto net = small_net(), plain = small_net();
  FlatParams flat(*net);
  const void* place = flat.grads().data_ptr();
  for (int pass = 0; pass < 3; ++pass) {
    loss_of(net).backward();
    loss_of(plain).backward();  // its gradients add up as well
    for (std::size_t i = 0; i < flat.params().size(); ++i) {
      const Slice& slice = flat.slices()[i];
      EXPECT_EQ(flat.params()[i].grad().data_ptr(),
                static_cast<const float*>(place) + slice.begin);
      EXPECT_TRUE(torch::allclose(flat.params()[i].grad(),
                                  plain->parameters()[i].grad()));
    }
  }
  flat.zero_grads();
  EXPECT_EQ(flat.grads().count_nonzero().item<int>(), 0);
  EXPECT_EQ(flat.params()[0].grad().data_ptr(), place);
}

TEST(FlatParams, AChangeOfTheFlatValuesChangesTheModule) {
  auto net = small_net();
  FlatParams flat(*net);
  flat.values().zero_();
  EXPECT_EQ(loss_of(net).item<float>(), 0);
}

TEST(FlatParams, KeepsTheMemoryFormatOfAParameter) {
  auto net = small_net();
  torch::nn::Conv2d conv(net->ptr<torch::nn::Conv2dImpl>(0));
  conv->weight.set_data(
      conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor before = conv->weight.detach().clone();
  FlatParams flat(*net);
  EXPECT_TRUE(conv->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(torch::equal(conv->weight, before));
}

struct Tied : torch::nn::Module {
  Tied() {
    a = register_module("a", torch::nn::Linear(3, 3));
    b = register_module("b", torch::nn::Linear(3, 3));
    b->weight = b->register_parameter("shared", a->weight);
  }
  torch::nn::Linear a{nullptr}, b{nullptr};
};

TEST(FlatParams, HoldsASharedParameterOnce) {
  Tied tied;
  FlatParams flat(tied);
  std::int64_t shared = 0;
  for (const at::Tensor& p : flat.params()) shared += p.is_same(tied.a->weight);
  EXPECT_EQ(shared, 1);
}

TEST(FlatParams, RefusesParametersThatAreNotFp32) {
  torch::nn::Linear half(3, 3);
  half->to(torch::kBFloat16);
  EXPECT_THROW(FlatParams{*half}, Error);
}

}  // namespace
}  // namespace lockstep
