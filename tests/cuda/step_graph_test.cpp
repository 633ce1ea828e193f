// SPDX-License-Identifier: Apache-2.0
// A captured step against the same step run piece by piece.
#include "lockstep/strategy/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "lockstep/comm/emulated_group.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/error.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/optimizer.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

RunConfig config_of(ModelKind model, GraphUse graph) {
  RunConfig config;
  config.model.kind = model;
  config.model.classes = 10;
  config.train.device = "cuda";
  config.train.graph = graph;
  config.optim.kind = OptimKind::adam;
  config.optim.lr = 1e-3;
  config.optim.weight_decay = 1e-2;
  config.optim.decay_norm_and_bias = false;
  return config;
}

struct Trained {
  std::vector<double> losses;
  at::Tensor values;
  Json notes;
  std::vector<StepSample> samples;
  std::vector<CommSample> messages;
};

// Steps of eight samples and, every third, of five: two shapes.
Trained train(const RunConfig& config, const Model& own, int every = 1,
              Group* ranks = nullptr) {
  Trained out;
  run_ranks(1, {}, [&](Group& alone) {
    Group& group = ranks ? *ranks : alone;
    const auto device = open_device("cuda");
    device->allow_tf32(false);
    torch::manual_seed(3);
    Model model = own.module ? own : make_model(config.model);
    model.module->to(device->torch());
    FlatParams params(*model.module);
    Optimizer optimizer(config.optim, params, *device);
    Recorder recorder(0, device->time_source(), {.every = every});
    const auto strategy =
        make_strategy({config, model, params, *device, group, recorder});
    const at::Tensor x = at::randn({8, 12000}).to(device->torch());
    const at::Tensor y = at::randint(10, {8}, at::kLong).to(device->torch());
    for (int step = 0; step < 12; ++step) {
      const std::int64_t n = step % 3 == 2 ? 5 : 8;
      recorder.begin_step(step, 0);
      const StepOutcome outcome =
          strategy->step({.passes = {{x.narrow(0, 0, n), y.narrow(0, 0, n), n}},
                          .global_samples = n,
                          .lr = config.optim.lr / (1 + step)},
                         optimizer);
      recorder.end_step(n);
      out.losses.push_back(outcome.loss_sum.item<double>() /
                           static_cast<double>(n));
    }
    out.values = params.values().cpu();
    out.notes = strategy->notes();
    Recorder::Samples recorded = recorder.collect(out.losses);
    out.samples = std::move(recorded.steps);
    out.messages = std::move(recorded.messages);
  });
  return out;
}

// Every kernel of a linear model sums in one order.
void expect_same(RunConfig config, int every) {
  const Trained eager = train(config, {}, every);
  config.train.graph = GraphUse::on;
  const Trained captured = train(config, {}, every);
  EXPECT_EQ(eager.losses, captured.losses);
  EXPECT_TRUE(at::equal(eager.values, captured.values));
  EXPECT_EQ(eager.notes.at("steps_replayed"), 0);
  EXPECT_EQ(captured.notes.at("steps_replayed"), 10);
  EXPECT_EQ(captured.notes.at("steps_one_by_one"), 2);
  EXPECT_LT(captured.losses.back(), captured.losses.front());
}

TEST(StepGraph, TrainsToTheSameBitsWhole) {
  expect_same(config_of(ModelKind::linear, GraphUse::off), 1000);
}

TEST(StepGraph, TrainsToTheSameBitsPieceByPieceAndTimesThem) {
  expect_same(config_of(ModelKind::linear, GraphUse::off), 1);
  const Trained timed =
      train(config_of(ModelKind::linear, GraphUse::on), {}, 1);
  for (const StepSample& s : timed.samples) {
    EXPECT_GT(s.forward_s, 0);
    EXPECT_GT(s.backward_s, 0);
    EXPECT_GT(s.optim_s, 0);
  }
}

// Rank 0 of four, the others emulated: its sums are its own values.
Trained train_ddp(GraphUse graph, int every) {
  RunConfig config = config_of(ModelKind::linear, graph);
  config.strategy.kind = StrategyKind::ddp;
  // A bucket a layer: the first one's weight has most of the bytes.
  config.strategy.first_bucket_bytes = config.strategy.bucket_bytes = 1000;
  gpu();
  const auto group = make_emulated_group(
      4, [](Collective, std::int64_t, int) { return 50e-6; },
      gpu_table().delay);
  return train(config, {}, every, group.get());
}

TEST(StepGraph, SendsBucketsBetweenRecordedPartsOfBackward) {
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

TEST(StepGraph, ClipsOnTheDeviceAsOnTheHost) {
  RunConfig config = config_of(ModelKind::linear, GraphUse::off);
  config.optim = {.kind = OptimKind::sgd, .lr = 1, .momentum = 0.9};
  config.train.clip_norm = 0.05;
  const Trained eager = train(config, {});
  config.train.graph = GraphUse::on;
  const Trained captured = train(config, {});
  // The scale is one fp32 number here, one double there.
  EXPECT_LT(distance(captured.values, eager.values), 1e-6);
}

// A module that reads its own numbers in the middle of a step.
struct Reader : torch::nn::Module {
  Reader() : layer(12000, 10) { register_module("layer", layer); }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = layer(x);
    return y.abs().max().item<float>() > 100 ? y / 2 : y;
  }
  torch::nn::Linear layer;
};

Model reader() {
  const auto module = std::make_shared<Reader>();
  return {module, [module](at::Tensor x) { return module->forward(x); }};
}

TEST(StepGraph, WhatCannotBeCapturedSaysWhyOrRunsAsItIs) {
  torch::manual_seed(5);
  const Trained eager =
      train(config_of(ModelKind::linear, GraphUse::off), reader());
  torch::manual_seed(5);
  const Trained fallen =
      train(config_of(ModelKind::linear, GraphUse::automatic), reader());
  EXPECT_EQ(eager.losses, fallen.losses);
  EXPECT_EQ(fallen.notes.at("steps_replayed"), 0);
  EXPECT_THAT(fallen.notes.at("why_one_by_one").get<std::string>(),
              testing::HasSubstr("captur"));
  try {
    train(config_of(ModelKind::linear, GraphUse::on), reader());
    FAIL() << "captured what waits for the device";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::device);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("captur"));
  }
}

}  // namespace
}  // namespace lockstep
