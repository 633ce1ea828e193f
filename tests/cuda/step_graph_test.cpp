// SPDX-License-Identifier: Apache-2.0
// A captured step against the same step run piece by piece.
#include "lockstep/strategy/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/comm/emulated_group.h"
#include "lockstep/core/error.h"
#include "lockstep/kernels/gpu_table.h"
#include "tests/cuda/gpu.h"
#include "tests/cuda/steps.h"

namespace lockstep {
namespace {

using CapturedStep = GpuTest;

// Every kernel of a linear model sums in one order.
void expect_same_step(RunConfig config, int every) {
  const Trained eager = train({config, every});
  config.train.graph = GraphUse::on;
  const Trained captured = train({config, every});
  EXPECT_EQ(eager.losses, captured.losses);
  EXPECT_TRUE(at::equal(eager.values, captured.values));
  EXPECT_EQ(eager.notes.at("steps_replayed"), 0);
  EXPECT_EQ(captured.notes.at("steps_replayed"), 10);
  EXPECT_EQ(captured.notes.at("steps_one_by_one"), 2);
  EXPECT_LT(captured.losses.back(), captured.losses.front());
  // Forward, backward and update apart where they are timed.
  EXPECT_TRUE(eager.notes.at("launches_a_step").is_null());
  const auto launches = captured.notes.at("launches_a_step").get<int>();
  EXPECT_GE(launches, every == 1 ? 3 : 1);
  EXPECT_GT(captured.notes.at("operations_a_step").get<int>(), launches);
}

TEST_F(CapturedStep, TrainsToTheSameBitsWhole) {
  expect_same_step(config_of(ModelKind::linear, GraphUse::off), 1000);
}

TEST_F(CapturedStep, TrainsToTheSameBitsWithLarsAndLamb) {
  RunConfig config = config_of(ModelKind::linear, GraphUse::off);
  config.optim.lr = 0.05;
  config.optim.kind = OptimKind::lamb;
  for (const int every : {1, 1000}) expect_same_step(config, every);
  config.optim.kind = OptimKind::lars;
  config.optim.momentum = 0.5;
  config.optim.trust_coefficient = 0.5;
  for (const int every : {1, 1000}) expect_same_step(config, every);
}

TEST_F(CapturedStep, TrainsToTheSameBitsPieceByPieceAndTimesThem) {
  expect_same_step(config_of(ModelKind::linear, GraphUse::off), 1);
  const Trained timed = train({config_of(ModelKind::linear, GraphUse::on)});
  for (const StepSample& s : timed.samples) {
    EXPECT_GT(s.forward_s, 0);
    EXPECT_GT(s.backward_s, 0);
    EXPECT_GT(s.optim_s, 0);
  }
}

// What a measured step leaves is its own: later ones do not write over it.
void expect_same_norms(Scene scene, std::size_t norms_a_step) {
  scene.noise_every = 3;
  const Trained eager = train(scene);
  scene.config.train.graph = GraphUse::on;
  const Trained captured = train(scene);
  EXPECT_EQ(eager.norms.size(), 4 * norms_a_step);
  EXPECT_EQ(eager.norms, captured.norms);
  EXPECT_EQ(eager.losses, captured.losses);
  EXPECT_TRUE(at::equal(eager.values, captured.values));
  EXPECT_EQ(captured.notes.at("steps_replayed"), 9);
  EXPECT_EQ(captured.notes.at("steps_one_by_one"), 3);
}

TEST_F(CapturedStep, MeasuresTheSameNoise) {
  for (const int every : {1, 1000})
    expect_same_norms({config_of(ModelKind::linear, GraphUse::off), every}, 3);
}

TEST_F(CapturedStep, MeasuresTheSameNoiseOfRanks) {
  RunConfig config = config_of(ModelKind::linear, GraphUse::off);
  config.strategy.kind = StrategyKind::ddp;
  config.strategy.first_bucket_bytes = config.strategy.bucket_bytes = 1000;
  const auto group = make_emulated_group(
      4, [](Collective, std::int64_t, int) { return 50e-6; },
      gpu_table().delay);
  for (const int every : {1, 1000})
    expect_same_norms({.config = config, .every = every, .ranks = group.get()},
                      2);
}

// Rank 0 of four, the others emulated: its sums are its own values.
Trained train_ddp(GraphUse graph, int every) {
  RunConfig config = config_of(ModelKind::linear, graph);
  config.strategy.kind = StrategyKind::ddp;
  // A bucket a layer: the first one's weight has most of the bytes.
  config.strategy.first_bucket_bytes = config.strategy.bucket_bytes = 1000;
  const auto group = make_emulated_group(
      4, [](Collective, std::int64_t, int) { return 50e-6; },
      gpu_table().delay);
  return train({.config = config, .every = every, .ranks = group.get()});
}

TEST_F(CapturedStep, SendsBucketsBetweenRecordedPartsOfBackward) {
  for (const int every : {1, 1000}) {
    SCOPED_TRACE(every);
    const Trained eager = train_ddp(GraphUse::off, every);
    const Trained captured = train_ddp(GraphUse::on, every);
    EXPECT_EQ(eager.losses, captured.losses);
    EXPECT_TRUE(at::equal(eager.values, captured.values));
    EXPECT_EQ(captured.notes.at("steps_replayed"), 10);
    ASSERT_EQ(eager.messages.size(), captured.messages.size());
    EXPECT_GE(eager.messages.size(), 3 * eager.losses.size());
    for (std::size_t i = 0; i < eager.messages.size(); ++i) {
      EXPECT_EQ(eager.messages[i].bucket, captured.messages[i].bucket);
      EXPECT_EQ(eager.messages[i].bytes, captured.messages[i].bytes);
      EXPECT_GT(captured.messages[i].end_s, captured.messages[i].begin_s);
    }
  }
}

TEST_F(CapturedStep, ClipsOnTheDeviceAsOnTheHost) {
  RunConfig config = config_of(ModelKind::linear, GraphUse::off);
  config.optim = {.kind = OptimKind::sgd, .lr = 1, .momentum = 0.9};
  config.train.clip_norm = 0.05;
  const Trained eager = train({config});
  config.train.graph = GraphUse::on;
  const Trained captured = train({config});
  // The scale is one fp32 number here, one double there.
  EXPECT_LT(distance(captured.values, eager.values), 1e-6);
}

TEST_F(CapturedStep, ARecordingCanFollowOneThatIsGone) {
  const at::Tensor x = at::ones({1024}, gpu().torch());
  for (int round = 1; round <= 3; ++round) {
    const auto parts =
        gpu().capture([&](const Device::Cut&) { x.add_(x.sin()); });
    ASSERT_EQ(parts.size(), 1);
    parts.front()->replay();
  }
  gpu().synchronize();
  EXPECT_GT(x.min().item<float>(), 2);
}

// A module that draws random numbers and then reads its own in the middle of a
// step.
struct Reader : torch::nn::Module {
  Reader() : layer(12000, 10) { register_module("layer", layer); }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = layer(at::dropout(x, 0.2, is_training()));
    return y.abs().max().item<float>() > 100 ? y / 2 : y;
  }
  torch::nn::Linear layer;
};

Model reader() {
  const auto module = std::make_shared<Reader>();
  return {module, [module](const at::Tensor& x) { return module->forward(x); }};
}

Trained train_reader(GraphUse graph) {
  return train({.config = config_of(ModelKind::linear, graph), .own = reader});
}

TEST_F(CapturedStep, WhatCannotBeCapturedSaysWhyOrRunsAsItIs) {
  const Trained eager = train_reader(GraphUse::off);
  const Trained fallen = train_reader(GraphUse::automatic);
  // The masks of dropout too: what was recorded drew none.
  EXPECT_EQ(eager.losses, fallen.losses);
  EXPECT_EQ(fallen.notes.at("steps_replayed"), 0);
  EXPECT_THAT(fallen.notes.at("why_one_by_one").get<std::string>(),
              testing::HasSubstr("captur"));
  try {
    train_reader(GraphUse::on);
    FAIL() << "captured what waits for the device";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::device);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("captur"));
  }
}

}  // namespace
}  // namespace lockstep
