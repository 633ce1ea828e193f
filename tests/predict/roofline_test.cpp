// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/roofline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/hardware/presets.h"
#include "lockstep/predict/workload.h"

namespace lockstep {
namespace {

struct Measured {
  ModelKind model;
  double batch;
  const char* software;
  Precision precision;
  double step_ms;
};

// PyTorch 2.11 with CUDA 13.0 on one H200, data already on the GPU; Lockstep's
// own steps, from results/h200.
constexpr Measured kSteps[] = {
    {ModelKind::linear, 10, "pytorch", Precision::fp32, 1.76},
    {ModelKind::linear, 600, "graph", Precision::tf32, 0.376},
    {ModelKind::conv1d, 100, "pytorch", Precision::tf32, 9.42},
    {ModelKind::conv1d, 600, "pytorch", Precision::fp32, 111.1},
    {ModelKind::conv1d, 600, "graph", Precision::bf16, 37.0},
    {ModelKind::resnet18, 32, "pytorch", Precision::tf32, 8.54},
    {ModelKind::resnet18, 512, "pytorch", Precision::tf32, 23.4},
    {ModelKind::resnet18, 512, "graph", Precision::bf16, 8.16},
    {ModelKind::mobilenet_v2, 16, "pytorch", Precision::tf32, 16.8},
    {ModelKind::mobilenet_v2, 128, "graph", Precision::bf16, 18.2},
    {ModelKind::vit_b_16, 128, "graph", Precision::bf16, 39.2},
    {ModelKind::resnet50, 32, "graph", Precision::bf16, 7.07},
    {ModelKind::gpt, 8, "graph", Precision::bf16, 17.7},
    {ModelKind::gpt, 32, "pytorch", Precision::bf16, 80.8},
    {ModelKind::linear, 10, "lockstep-graph", Precision::tf32, 0.196},
    {ModelKind::linear, 600, "lockstep-graph", Precision::tf32, 0.322},
    {ModelKind::conv1d, 10, "lockstep-graph", Precision::bf16, 0.354},
    {ModelKind::conv1d, 600, "lockstep-graph", Precision::bf16, 8.296},
    {ModelKind::resnet18, 32, "lockstep-graph", Precision::bf16, 1.397},
    {ModelKind::resnet18, 512, "lockstep-graph", Precision::bf16, 5.936},
    {ModelKind::mobilenet_v2, 16, "lockstep-graph", Precision::bf16, 3.228},
    {ModelKind::mobilenet_v2, 128, "lockstep-graph", Precision::bf16, 11.758},
    {ModelKind::resnet50, 128, "lockstep-graph", Precision::bf16, 19.523},
    {ModelKind::vit_b_16, 128, "lockstep-graph", Precision::bf16, 34.034},
    {ModelKind::gpt, 8, "lockstep-graph", Precision::bf16, 16.445}};

double estimated_ms(const Measured& m) {
  ModelConfig config;
  config.kind = m.model;
  if (m.model == ModelKind::gpt) {  // gpt_124m
    config.layers = 12, config.heads = 12, config.width = 768;
    config.vocab = 50'257, config.context = 1024;
  }
  Setting setting{.precision = m.precision,
                  .software = find_software(m.software)};
  setting.optim.momentum = 0.9;
  const Workload work =
      make_workload(estimate_profile(plan_work(with_own_sizes(config)),
                                     find_device("H200"), setting),
                    true);
  const PassTime pass = pass_at(work, m.batch);
  return 1e3 * (pass.forward_s + pass.backward_s + work.optimizer_s() +
                overhead_at(work, m.batch));
}

TEST(Roofline, IsWithinItsSpreadOfMeasuredSteps) {
  double sum_sq = 0;
  for (const Measured& m : kSteps) {
    const double error = std::log(estimated_ms(m) / m.step_ms);
    EXPECT_LT(std::abs(error), kRooflineSpread)
        << static_cast<int>(m.model) << " at " << m.batch;
    sum_sq += error * error;
  }
  EXPECT_LT(std::sqrt(sum_sq / std::size(kSteps)), 0.2);
}

TEST(Roofline, MoreSamplesNeverTakeLess) {
  for (const char* software :
       {"lockstep", "lockstep-graph", "pytorch", "graph"}) {
    double before = 0;
    for (double batch = 1; batch < 1e5; batch *= 1.7) {
      const double now = estimated_ms(
          {ModelKind::resnet18, batch, software, Precision::fp32, 0});
      EXPECT_GE(now, before * (1 - 1e-9)) << batch;
      before = now;
    }
  }
}

TEST(Roofline, AProfileAtItsOwnBatchIsItself) {
  Profile p;
  p.batches = {8, 32};
  p.layers = {{"a", "Linear", 0, 0, {1e-3, 3e-3}, {2e-3, 6e-3}}};
  p.params = {{"a.weight", 10, 0}};
  p.gradient_order = {0};
  p.step_s = {4e-3, 10e-3};
  p.optimizer_s = 5e-4;
  const Workload work = make_workload(p, false);
  EXPECT_NEAR(pass_at(work, 8).forward_s, 1e-3, 1e-12);
  EXPECT_NEAR(pass_at(work, 20).backward_s, 4e-3, 1e-12);
  EXPECT_NEAR(overhead_at(work, 8), 5e-4, 1e-12);
  // Below what was measured work shrinks with the batch at most, above it the
  // line goes on.
  EXPECT_GE(pass_at(work, 1).forward_s, 1e-3 / 8);
  EXPECT_NEAR(pass_at(work, 56).forward_s, 5e-3, 1e-12);
}

// A large loss keeps the first bucket waiting: what a profile without it lacks.
TEST(Roofline, NoGradientIsThereBeforeTheLossWentBack) {
  Profile p;
  p.batches = {8, 32};
  p.layers = {{"a", "Linear", 0, 0, {1e-3, 1e-3}, {2e-3, 2e-3}},
              {"b", "Linear", 0, 0, {1e-3, 1e-3}, {2e-3, 2e-3}}};
  p.params = {{"a.weight", 10, 0}, {"b.weight", 10, 1}};
  p.gradient_order = {1, 0};
  p.step_s = {20e-3, 20e-3};
  p.loss = ProfileLoss{{4e-3, 4e-3}, {5e-3, 5e-3}};
  const Workload work = make_workload(p, false);
  const PassTime pass = pass_at(work, 8);
  EXPECT_NEAR(pass.forward_s, 6e-3, 1e-12);
  EXPECT_NEAR(pass.backward_s, 9e-3, 1e-12);
  EXPECT_NEAR(pass.ready_s[1], 7e-3, 1e-12);
  EXPECT_NEAR(pass.ready_s[0], 9e-3, 1e-12);
  EXPECT_NEAR(layer_times(work, 8)[1], 12e-3, 1e-12);
  const SeenStep seen[] = {{8, 40e-3}, {16, 40e-3}};
  EXPECT_NEAR(pass_at(with_steps(work, seen), 8).ready_s[1], 14e-3, 1e-12);
}

// Timing each layer costs time: layers that add up to more than the step are
// scaled down to it.
TEST(Roofline, LayersNeverAddUpToMoreThanTheStep) {
  Profile p;
  p.batches = {8, 32};
  p.layers = {{"a", "Linear", 0, 0, {4e-3, 4e-3}, {4e-3, 4e-3}}};
  p.params = {{"a.weight", 10, 0}};
  p.gradient_order = {0};
  p.step_s = {5e-3, 5e-3};
  p.optimizer_s = 1e-3;
  const PassTime pass = pass_at(make_workload(p, false), 8);
  EXPECT_NEAR(pass.forward_s + pass.backward_s, 4e-3, 1e-12);
}

}  // namespace
}  // namespace lockstep
