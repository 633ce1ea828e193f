// SPDX-License-Identifier: Apache-2.0
// Golden values: torch.optim 2.11, and for LARS and LAMB the papers' formulas
// in float64, through tools/make_optim_golden.py.
#include "lockstep/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "lockstep/config/field.h"
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
  const at::Tensor& grads = params.grads();
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
      .eps = c.value("eps", 1e-8),
      .trust_coefficient = c.value("trust_coefficient", 0.001),
      .trust_clip = c.value("trust_clip", false)};
  std::vector<Field> fields;
  FieldLister lister("optim", fields);
  describe(lister, config);
  fields.front().set(c.at("kind").get<std::string>());
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
    for (int i = 0; i < 15; ++i) {
      const auto want = after[static_cast<std::size_t>(i)].get<double>();
      ASSERT_NEAR(params.values()[i].item<float>(), want,
                  1e-6 * std::max(1.0, std::abs(want)))
          << "element " << i << " after step " << step;
    }
    ASSERT_EQ(params.grads().count_nonzero().item<int>(), 0);
  }
}

TEST(Optimizer, DoesWhatTheReferenceDoesStepByStep) {
  const Json golden = read_json(
      LOCKSTEP_SOURCE_DIR "/tests/optim/optim_golden.json", Fault::data);
  ASSERT_EQ(golden.at("cases").size(), 19u);
  for (const Json& one : golden.at("cases")) expect_golden(one);
}

void expect_to_continue(const OptimConfig& config) {
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

TEST(Optimizer, ContinuesToTheBitFromItsState) {
  expect_to_continue({.kind = OptimKind::adam});
  expect_to_continue({.kind = OptimKind::lamb, .weight_decay = 0.1});
  expect_to_continue(
      {.kind = OptimKind::lars, .momentum = 0.9, .weight_decay = 0.1});
}

TEST(Layerwise, ATensorOfZerosTakesThePlainStep) {
  const TrustRule rule{.coefficient = 0.001};
  EXPECT_EQ(lars_trust(rule, {.values = 0, .gradient = 3}), 1);
  EXPECT_EQ(lars_trust(rule, {.values = 3, .gradient = 0}), 1);
  EXPECT_EQ(lamb_trust(rule, 0, 3), 1);
  EXPECT_EQ(lamb_trust(rule, 3, 0), 1);
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

TEST(Optimizer, PartsOnSeveralRanksAddUpToTheWholeToTheBit) {
  for (const OptimKind kind :
       {OptimKind::sgd, OptimKind::adam, OptimKind::adamw}) {
    const OptimConfig config{.kind = kind,
                             .momentum = kind == OptimKind::sgd ? 0.9 : 0,
                             .weight_decay = 0.1,
                             .decay_norm_and_bias = false};
    const auto device = open_device("cpu");
    Tiny whole_module, first_module, second_module;
    FlatParams whole(whole_module), first(first_module), second(second_module);
    Optimizer all(config, whole, *device), a(config, first, *device),
        b(config, second, *device);
    a.own({{2, 5, 0}, {11, 3, 5}});
    b.own({{0, 2, 0}, {7, 4, 2}, {14, 1, 6}});
    EXPECT_FALSE(a.owns_all());
    for (int step = 0; step < 3; ++step) {
      for (FlatParams* params : {&whole, &first, &second})
        set_grads(*params, step);
      all.step(0.1), a.step(0.1), b.step(0.1);
    }
    for (const int i : {2, 6, 11, 13})
      EXPECT_TRUE(at::equal(whole.values()[i], first.values()[i])) << i;
    for (const int i : {0, 1, 7, 10, 14})
      EXPECT_TRUE(at::equal(whole.values()[i], second.values()[i])) << i;
    // What is another rank's was neither updated nor left with a gradient.
    EXPECT_FLOAT_EQ(first.values()[0].item<float>(), std::sin(1.0F));
    EXPECT_EQ(first.grads().abs().sum().item<float>(), 0);
    for (const auto& [name, state] : a.state()) EXPECT_EQ(state.numel(), 8);
  }
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
