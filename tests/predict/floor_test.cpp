// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/floor.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/roofline.h"

namespace lockstep {
namespace {

// 1 TFLOP/s and 100 GB/s: floors can be worked out on paper.
DeviceSpec plain_device() {
  return {.name = "plain",
          .fp32_flops = 1e12,
          .memory_bytes = 1 << 30,
          .memory_bytes_per_s = 1e11};
}

// 1000 -> 500, ReLU, -> 10, without biases.
WorkPlan two_layers() {
  WorkPlan plan;
  plan.model = "two layers", plan.input = {1000};
  plan.layers = {{.name = "a",
                  .type = "Linear",
                  .output = {500},
                  .params = 500'000,
                  .forward_flops = 1e6,
                  .backward_flops = 1e6,
                  .input_numel = 1000,
                  .output_numel = 500},
                 {.name = "relu",
                  .type = "ReLU",
                  .output = {500},
                  .input_numel = 500,
                  .output_numel = 500},
                 {.name = "b",
                  .type = "Linear",
                  .output = {10},
                  .params = 5000,
                  .forward_flops = 1e4,
                  .backward_flops = 2e4,
                  .input_numel = 500,
                  .output_numel = 10}};
  plan.params = {{"a.weight", {500, 1000}, 500'000, 0},
                 {"b.weight", {10, 500}, 5000, 2}};
  return plan;
}

Profile measured_profile() {
  Profile p;
  p.model = "two layers", p.device = "plain", p.batches = {10, 100};
  p.layers = {{"a", "Linear", 2000, 2000, {1e-4, 3e-4}, {1e-4, 5e-4}},
              {"b", "Linear", 40, 40, {1e-5, 2e-5}, {1e-5, 3e-5}}};
  p.params = {{"a.weight", 500'000, 0}, {"b.weight", 5000, 1}};
  p.gradient_order = {1, 0};
  p.input_bytes = 4000, p.output_bytes = 40;
  p.optimizer_bytes = 2.02e6;  // momentum
  p.optimizer_s = 2e-4, p.step_s = {5e-4, 1.25e-3};
  return p;
}

// At batch 100. a: 1e8 FLOPs each way are 100 us; 4 x (1e5 read + 5e4 written
// + 5e5 weights) = 2.6 MB and, without a gradient for the data but with that
// of the weights, 4.6 MB are less. b: 0.224 and 0.444 MB take longer than 1e6
// and 2e6 FLOPs. Update: 12 bytes a weight, momentum read and written: 10.1 MB.
TEST(Floor, IsTheLargerOfFlopsAndBytesInEachPass) {
  const Floors f = floors_of(measured_profile(), two_layers(), plain_device());
  ASSERT_EQ(f.rows.size(), 3u);
  EXPECT_EQ(f.batch, 100);
  EXPECT_NEAR(f.rows[0].floor_s, 200e-6, 1e-12);
  EXPECT_TRUE(f.rows[0].by_compute);
  EXPECT_NEAR(f.rows[0].bytes, 7.2e6, 1e-3);
  EXPECT_NEAR(*f.rows[0].flops, 2e8, 1e-3);
  EXPECT_NEAR(f.rows[1].floor_s, 6.68e-6, 1e-12);
  EXPECT_FALSE(f.rows[1].by_compute);
  EXPECT_EQ(f.rows[2].name, "update");
  EXPECT_NEAR(f.rows[2].floor_s, 101e-6, 1e-12);
  EXPECT_NEAR(f.floor_s, 307.68e-6, 1e-12);
  EXPECT_NEAR(f.rows[0].step_s, 8e-4, 1e-12);  // there is room in the step
}

TEST(Floor, LayersThatTookLongerAloneAreScaledToTheStep) {
  Profile p = measured_profile();
  p.step_s.back() = 625e-6;  // 425 us beside the update, layers took 850
  const Floors f = floors_of(p, two_layers(), plain_device());
  EXPECT_NEAR(f.scale, 0.5, 1e-12);
  EXPECT_NEAR(f.rows[0].timed_s, 800e-6, 1e-12);
  EXPECT_NEAR(f.rows[0].step_s, 400e-6, 1e-12);
  EXPECT_NEAR(f.rows[2].step_s, 200e-6, 1e-12);
}

TEST(Floor, WithoutAPlanBytesAreTheProfilesAndFlopsUnknown) {
  Profile p = measured_profile();
  p.layers.push_back({"view", "Flatten", 0, 40, {1e-6, 1e-6}, {0, 0}});
  const Floors f = floors_of(p, std::nullopt, plain_device());
  EXPECT_FALSE(f.knows_flops());
  EXPECT_NEAR(f.rows[0].floor_s, 72e-6, 1e-12);
  EXPECT_NEAR(f.rows[1].floor_s, 6.68e-6, 1e-12);
  EXPECT_EQ(f.rows[2].floor_s, 0);  // may move nothing
}

TEST(Floor, APlanOfAnotherModelIsRefused) {
  WorkPlan plan = two_layers();
  EXPECT_TRUE(describes(plan, measured_profile()));
  plan.params[1].numel = 6000;
  EXPECT_FALSE(describes(plan, measured_profile()));
  EXPECT_THROW(floors_of(measured_profile(), plan, plain_device()), Error);
  plan = two_layers();
  plan.input = {999};
  EXPECT_FALSE(describes(plan, measured_profile()));
}

// Efficiencies are at most 1 and estimates move whatever a floor moves.
TEST(Floor, IsBelowTheEstimateOfEveryModelAndCountsAllItsFlops) {
  for (int kind = 0; kind <= static_cast<int>(ModelKind::gpt); ++kind)
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      ModelConfig config;
      config.kind = static_cast<ModelKind>(kind);
      const WorkPlan plan = plan_work(with_own_sizes(config));
      const Profile p =
          estimate_profile(plan, find_device("H200"), {.precision = precision});
      const Floors f = floors_of(p, plan, find_device("H200"));
      const double batch = static_cast<double>(f.batch);
      double flops = 0, estimate_s = 0, floor_s = 0;
      for (const LayerFloor& row : f.rows)
        flops += row.flops.value_or(0), estimate_s += row.timed_s,
            floor_s += row.floor_s;
      SCOPED_TRACE(plan.model);
      EXPECT_LT(floor_s, estimate_s);
      EXPECT_GT(floor_s, 0.02 * estimate_s);
      const double counted = plan.forward_flops() + plan.backward_flops();
      EXPECT_NEAR(flops / (batch * counted), 1, 1e-9);
    }
}

// Its time is measured there, too.
TEST(Floor, AHeadThatSharesTheEmbeddingsWeightCountsWithIt) {
  const WorkPlan plan = plan_work({.kind = ModelKind::gpt});
  const Profile p = estimate_profile(plan, find_device("H200"), {});
  const Floors f = floors_of(p, plan, find_device("H200"));
  EXPECT_EQ(f.rows.front().name, "transformer.wte");
  const double head = plan.layers.back().forward_flops;
  EXPECT_GT(head, 0);
  EXPECT_NEAR(*f.rows.front().flops, 3 * head * double(f.batch), 1);
  EXPECT_EQ(*f.rows[plan.layers.size() - 1].flops, 0);
}

TEST(Floor, WhereTheLossIsTimedTheHeadCountsWithIt) {
  const WorkPlan plan = plan_work({.kind = ModelKind::gpt});
  Profile p = estimate_profile(plan, find_device("H200"), {});
  p.loss = ProfileLoss{p.step_s, p.step_s};
  const Floors f = floors_of(p, plan, find_device("H200"));
  EXPECT_EQ(*f.rows.front().flops, 0);
  const LayerFloor& loss = f.rows[plan.layers.size()];
  EXPECT_EQ(loss.name, "loss");
  const double head = plan.layers.back().forward_flops;
  EXPECT_NEAR(*loss.flops, 3 * head * double(f.batch), 1);
  EXPECT_GT(loss.floor_s, 0);
}

TEST(Floor, IntensityIsFlopsOverTheBytesOfBothPasses) {
  const LayerWork row{.name = "fc",
                      .type = "Linear",
                      .output = {5},
                      .params = 50,
                      .forward_flops = 100,
                      .backward_flops = 200,
                      .input_numel = 10,
                      .output_numel = 5};
  WorkPlan plan;
  plan.layers = {row};
  // Two samples: 20 read, 10 written, 50 weights; back 10, 20 and 50 read, and
  // 50 gradients of four bytes written. Nobody asks for the data's gradient.
  EXPECT_DOUBLE_EQ(planned_intensity(plan, 2, Precision::fp32),
                   600.0 / (4 * 80 + 4 * 80 + 4 * 50));
  EXPECT_DOUBLE_EQ(planned_intensity(plan, 2, Precision::bf16),
                   600.0 / (2 * 80 + 2 * 80 + 4 * 50));
}

}  // namespace
}  // namespace lockstep
