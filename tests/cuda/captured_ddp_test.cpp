// SPDX-License-Identifier: Apache-2.0
// ddp with recorded parts of a step between its messages, against the same run
// piece by piece: with everything that may come between. Once as the only rank
// of NCCL, once as rank 0 of four of which the others are emulated.
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include "lockstep/comm/emulated_group.h"
#include "lockstep/comm/nccl_group.h"
#include "lockstep/core/error.h"
#include "lockstep/kernels/gpu_table.h"
#include "tests/cuda/gpu.h"
#include "tests/cuda/steps.h"

namespace lockstep {
namespace {

using CapturedDdp = GpuTest;

// Small, with a layer that normalises and one that is never used where asked.
struct Net : torch::nn::Module {
  Net(bool normalises, bool has_unused)
      : first(12000, 48), second(48, 32), head(32, 10) {
    register_module("first", first);
    if (normalises) norm = register_module("norm", torch::nn::BatchNorm1d(48));
    register_module("second", second);
    if (has_unused) register_module("unused", torch::nn::Linear(32, 32));
    register_module("head", head);
  }
  at::Tensor forward(at::Tensor x) {
    x = first(x);
    if (!norm.is_empty()) x = norm(x);
    return head(second(x.relu()).relu());
  }
  torch::nn::Linear first, second, head;
  torch::nn::BatchNorm1d norm{nullptr};
};

std::function<Model()> net(bool normalises, bool has_unused) {
  return [=]() -> Model {
    const auto module = std::make_shared<Net>(normalises, has_unused);
    return {module,
            [module](const at::Tensor& x) { return module->forward(x); }};
  };
}

Scene ddp_scene() {
  RunConfig config = config_of(ModelKind::linear, GraphUse::off);
  config.strategy.kind = StrategyKind::ddp;
  // A bucket a layer or so: several messages a step.
  config.strategy.first_bucket_bytes = config.strategy.bucket_bytes = 2000;
  // Where differences in a last place do not become whole steps.
  config.optim = {.kind = OptimKind::sgd, .lr = 0.005, .momentum = 0.9};
  return {.config = config, .own = net(false, false)};
}

void on_nccl(const std::function<void(Group&)>& body) {
  run_nccl_ranks(1, 0, {}, {}, body);
}

void on_emulated(const std::function<void(Group&)>& body) {
  const auto group = make_emulated_group(
      4, [](Collective, std::int64_t, int) { return 20e-6; },
      gpu_table().delay);
  body(*group);
}

void expect_same_messages(const Trained& eager, const Trained& captured) {
  ASSERT_EQ(eager.messages.size(), captured.messages.size());
  EXPECT_GE(eager.messages.size(), std::size_t{2} * kSteps);
  for (std::size_t i = 0; i < eager.messages.size(); ++i) {
    const CommSample &a = eager.messages[i], &b = captured.messages[i];
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.bucket, b.bucket);
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.payload, b.payload);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_GE(b.end_s, b.begin_s);
  }
}

// To the bit, unless a sum or a factor is another one under capture.
void expect_same_ddp(Scene scene, double tolerance = 0) {
  for (auto* with_group : {on_nccl, on_emulated})
    for (const int every : {1, 1000})
      with_group([&](Group& group) {
        SCOPED_TRACE(::testing::Message()
                     << group.backend() << ", timed every " << every);
        scene.ranks = &group, scene.every = every;
        scene.config.train.graph = GraphUse::off;
        const Trained eager = train(scene);
        scene.config.train.graph = GraphUse::on;
        const Trained captured = train(scene);
        EXPECT_EQ(captured.notes.at("steps_replayed"), kSteps - 2);
        EXPECT_EQ(captured.notes.at("steps_one_by_one"), 2);
        EXPECT_LE(distance(captured.values, eager.values), tolerance);
        EXPECT_LE((captured.buffers - eager.buffers).abs().max().item<float>(),
                  tolerance);
        if (tolerance == 0) {
          EXPECT_EQ(eager.losses, captured.losses);
        }
        EXPECT_LT(captured.losses[9], captured.losses[0]);  // same samples
        expect_same_messages(eager, captured);
      });
}

TEST_F(CapturedDdp, SendsPlainGradients) { expect_same_ddp(ddp_scene()); }

TEST_F(CapturedDdp, RunsEveryGradientHook) {
  for (const HookKind hook :
       {HookKind::bf16, HookKind::fp16, HookKind::topk, HookKind::powersgd}) {
    SCOPED_TRACE(static_cast<int>(hook));
    Scene scene = ddp_scene();
    scene.config.strategy.hook = hook;
    scene.config.strategy.topk_share = 0.2;
    expect_same_ddp(scene);
  }
}

TEST_F(CapturedDdp, AddsUpPassesBeforeItSends) {
  Scene scene = ddp_scene();
  scene.config.batch.accumulate = 2;
  expect_same_ddp(scene);
}

// The scale is one fp32 number on the device, one double on the host.
TEST_F(CapturedDdp, ClipsWhatArrived) {
  Scene scene = ddp_scene();
  scene.config.train.clip_norm = 0.5;
  scene.config.optim.lr = 0.05;
  expect_same_ddp(scene, 1e-6);
}

TEST_F(CapturedDdp, TrainsInBf16) {
  Scene scene = ddp_scene();
  scene.own = {};  // the model whose layers read weights that are cast at once
  scene.config.train.precision = Precision::bf16;
  expect_same_ddp(scene);
}

TEST_F(CapturedDdp, SendsRunningStatistics) {
  Scene scene = ddp_scene();
  scene.own = net(true, false);
  expect_same_ddp(scene, 1e-6);
}

TEST_F(CapturedDdp, SendsZerosForWhatIsNeverUsed) {
  Scene scene = ddp_scene();
  scene.own = net(false, true);
  // Decay moves what has no gradient.
  scene.config.optim.weight_decay = 0.01;
  expect_same_ddp(scene);
}

TEST_F(CapturedDdp, IsRefusedToThreadsThatShareTheGpu) {
  Scene scene = ddp_scene();
  scene.config.train.graph = GraphUse::on;
  try {
    run_ranks(2, {}, [&](Group& group) { train_rank(scene, group); });
    FAIL() << "captured while another thread used the GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::config);
    EXPECT_NE(std::string(error.what()).find("threads"), std::string::npos)
        << error.what();
  }
}

TEST_F(CapturedDdp, UpdatesByLarsAndLamb) {
  Scene scene = ddp_scene();
  scene.config.optim = {.kind = OptimKind::lamb, .lr = 0.05};
  expect_same_ddp(scene);
  scene.config.optim = {.kind = OptimKind::lars,
                        .lr = 0.1,
                        .momentum = 0.5,
                        .trust_coefficient = 0.5};
  expect_same_ddp(scene);
}

}  // namespace
}  // namespace lockstep
