// SPDX-License-Identifier: Apache-2.0
// Golden values: torch.optim 2.11 through tools/make_optim_golden.py.
#include "lockstep/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

#include "lockstep/core/json.h"
#include "lockstep/device/device.h"
#include "lockstep/optim/clip.h"

namespace lockstep {
namespace {

struct Tiny : torch::nn::Module {
  Tiny() {
    at::Tensor start = torch::empty({15});
    for (int i = 0; i < 15; ++i) start[i] = std::sin(i + 1);
    register_parameter("weight", start.slice(0, 0, 12).reshape({3, 4}).clone());
    register_parameter("bias", start.slice(0, 12, 15).clone());
  }
};

void set_grads(FlatParams& params, int step) {
  at::Tensor grads = params.grads();
  for (int i = 0; i < 15; ++i) grads[i] = std::cos(0.7 * i + 0.3 * step) / 2;
}

OptimConfig config_of(const Json& c) {
  OptimConfig config{
      .lr = c.at("lr").get<double>(),
      .momentum = c.value("momentum", 0.0),
      .nesterov = c.value("nesterov", false),
      .weight_decay = c.value("weight_decay", 0.0),
      .decay_norm_and_bias = c.value("decay_norm_and_bias", true),
      .beta1 = c.value("beta1", 0.9),
      .beta2 = c.value("beta2", 0.999),
      .eps = c.value("eps", 1e-8)};
  const std::string kind = c.at("kind");
  config.kind = kind == "sgd"    ? OptimKind::sgd
                : kind == "adam" ? OptimKind::adam
                                 : OptimKind::adamw;
  return config;
}

void expect_golden(const Json& golden) {
  SCOPED_TRACE(golden.at("name").get<std::string>());
  Tiny module;
  FlatParams params(module);
  const auto device = open_device("cpu");
  Optimizer optimizer(config_of(golden), params, *device);
  int step = 0;
  for (const Json& after : golden.at("after")) {
    set_grads(params, step++);
    const double scale =
        clip_scale(grad_norm(params), golden.value("clip_norm", 0.0));
    optimizer.step(golden.at("lr"), scale);
    for (int i = 0; i < 15; ++i)
      ASSERT_NEAR(params.values()[i].item<float>(),
                  after[static_cast<std::size_t>(i)].get<float>(), 1e-6)
          << "element " << i << " after step " << step;
    ASSERT_EQ(params.grads().count_nonzero().item<int>(), 0);
  }
}

TEST(Optimizer, DoesWhatTorchOptimDoesStepByStep) {
  const Json golden = read_json(
      LOCKSTEP_SOURCE_DIR "/tests/optim/optim_golden.json", Fault::data);
  ASSERT_EQ(golden.at("cases").size(), 11u);
  for (const Json& one : golden.at("cases")) expect_golden(one);
}

TEST(Optimizer, ContinuesToTheBitFromItsState) {
  const OptimConfig config{.kind = OptimKind::adam, .lr = 0.01};
  const auto device = open_device("cpu");
  Tiny whole_module, first_module, second_module;
  FlatParams whole(whole_module), first(first_module), second(second_module);
  Optimizer unbroken(config, whole, *device), before(config, first, *device),
      after(config, second, *device);
  for (int step = 0; step < 6; ++step) {
    set_grads(whole, step);
    unbroken.step(0.01);
    if (step == 3) {
      second.values().copy_(first.values());
      for (std::size_t i = 0; i < before.state().size(); ++i) {
        EXPECT_EQ(after.state()[i].first, before.state()[i].first);
        after.state()[i].second.copy_(before.state()[i].second);
      }
      after.set_steps(before.steps());
    }
    FlatParams& now = step < 3 ? first : second;
    set_grads(now, step);
    (step < 3 ? before : after).step(0.01);
  }
  EXPECT_TRUE(torch::equal(whole.values(), second.values()));
}

TEST(Optimizer, RefusesNesterovWithoutMomentum) {
  Tiny module;
  FlatParams params(module);
  const auto device = open_device("cpu");
  EXPECT_THROW(Optimizer({.nesterov = true}, params, *device), Error);
}

TEST(Optimizer, HasNoStateWhenTheRuleNeedsNone) {
  Tiny module;
  FlatParams params(module);
  const auto device = open_device("cpu");
  EXPECT_TRUE(Optimizer({.lr = 0.1}, params, *device).state().empty());
}

TEST(Clip, LeavesShortGradientsAlone) {
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(5, 0), 1);
  EXPECT_NEAR(clip_scale(5, 1), 0.2, 1e-6);
}

TEST(Clip, MeasuresTheNormOfAllGradientsTogether) {
  Tiny module;
  FlatParams params(module);
  set_grads(params, 0);
  const double expected =
      params.grads().to(torch::kDouble).norm().item<double>();
  EXPECT_NEAR(grad_norm(params), expected, 1e-12);
}

}  // namespace
}  // namespace lockstep
