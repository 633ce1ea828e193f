// SPDX-License-Identifier: Apache-2.0
// A layer that writes its gradient into the flat buffer must train exactly as
// one whose gradient autograd adds: over steps, accumulated passes and steps
// that do not reach it.
#include "lockstep/kernels/direct_grad.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "lockstep/device/device.h"
#include "lockstep/kernels/linear.h"
#include "lockstep/optim/clip.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {
namespace {

struct Net : torch::nn::Module {
  explicit Net(bool is_direct) : direct(is_direct) {
    torch::manual_seed(5);
    a = register_module("a", torch::nn::Linear(40, 30));
    b = register_module("b", torch::nn::Linear(30, 4));
  }
  at::Tensor layer(torch::nn::Linear& l, const at::Tensor& x) {
    return direct ? linear(x, l->weight, l->bias) : l(x);
  }
  at::Tensor forward(const at::Tensor& x) {
    return layer(b, layer(a, x).relu());
  }
  bool direct;
  torch::nn::Linear a{nullptr}, b{nullptr};
};

struct Training {
  explicit Training(bool direct) : net(direct) {}
  void pass(int step) {
    const at::Tensor x = torch::linspace(-1, 1 + step, 6 * 40).view({6, 40});
    net.forward(x.sin()).square().mean().backward();
  }
  Net net;
  FlatParams params{net};
  std::unique_ptr<Device> device = open_device("cpu");
  Optimizer optimizer{
      {.kind = OptimKind::adam, .lr = 0.01, .weight_decay = 0.1},
      params,
      *device};
};

TEST(DirectGrad, TrainsAsAutogradsSumDoes) {
  Training direct(true), plain(false);
  for (int step = 0; step < 6; ++step)
    for (Training* t : {&direct, &plain}) {
      for (int pass = 0; pass <= step % 3; ++pass) t->pass(step + pass);
      t->optimizer.step(0.01, 0.5);
    }
  EXPECT_TRUE(direct_grad_of(direct.net.a->weight)->used);
  EXPECT_TRUE(torch::allclose(direct.params.values(), plain.params.values(),
                              1e-5, 1e-6));
}

TEST(DirectGrad, AStepWithoutBackwardSeesAZeroGradient) {
  Training direct(true), plain(false);
  for (Training* t : {&direct, &plain}) {
    t->pass(0);
    t->optimizer.step(0.01);
    t->optimizer.step(0.01);  // weight decay and old moments alone
  }
  EXPECT_TRUE(torch::allclose(direct.params.values(), plain.params.values(),
                              1e-5, 1e-6));
}

TEST(DirectGrad, TheNormCountsAStaleGradientAsZero) {
  Training direct(true);
  direct.pass(0);
  EXPECT_GT(grad_norm(direct.params), 0);
  direct.optimizer.step(0.01);
  EXPECT_EQ(grad_norm(direct.params), 0);
}

TEST(DirectGrad, TheFlatGradientHoldsWhatBackwardGave) {
  Training direct(true), plain(false);
  for (Training* t : {&direct, &plain}) {
    t->pass(0);
    t->optimizer.step(0.01);
    t->pass(1);
    t->params.settle_grads();
  }
  EXPECT_TRUE(
      torch::allclose(direct.params.grads(), plain.params.grads(), 1e-4, 1e-6));
}

}  // namespace
}  // namespace lockstep
