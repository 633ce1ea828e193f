// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/single.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "lockstep/comm/thread_group.h"
#include "lockstep/device/device.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/plan/model_sizes.h"
#include "lockstep/strategy/pass.h"

namespace lockstep {
namespace {

RunConfig variable_config() {
  RunConfig config;
  config.model.kind = ModelKind::variable;
  config.model.variable_params = 20'000;
  config.model.variable_flops = 40'000;
  config.model.classes = 10;
  config.batch.per_rank = 8;
  config.optim.lr = 0.1;
  return config;
}

at::Tensor random_clips(std::int64_t samples) {
  return at::randn({samples, kClipSamples});
}

Batch random_batch(std::int64_t samples) {
  return {random_clips(samples), at::randint(10, {samples}, at::kLong),
          samples};
}

// Parameters after some steps on the same eight samples, in so many passes.
struct Trained {
  at::Tensor values;
  std::vector<StepSample> steps;
  StepOutcome last;
};

Trained train_small(const RunConfig& config, std::int64_t passes) {
  Trained out;
  run_ranks(1, {}, [&](Group& group) {
    torch::manual_seed(3);
    const auto device = open_device("cpu");
    Model model = make_model(config.model);
    FlatParams params(*model.module);
    Optimizer optimizer(config.optim, params, *device);
    Recorder recorder(0, device->time_source(), {});
    const auto strategy =
        make_strategy({config, model, params, *device, group, recorder});
    const Batch batch = random_batch(8);
    StepInput input{.passes = {}, .global_samples = 8, .lr = config.optim.lr};
    for (std::int64_t i = 0; i < passes; ++i)
      input.passes.push_back(
          {batch.inputs.slice(0, i * 8 / passes, (i + 1) * 8 / passes),
           batch.targets.slice(0, i * 8 / passes, (i + 1) * 8 / passes),
           8 / passes});
    for (int step = 0; step < 3; ++step) {
      recorder.begin_step(step, 0);
      out.last = strategy->step(input, optimizer);
      recorder.end_step(8);
    }
    out.values = params.values().clone();
    out.steps = recorder.collect(std::vector<double>(3)).steps;
  });
  return out;
}

TEST(Single, AccumulationEndsWhereTheWholeBatchEnds) {
  const Trained whole = train_small(variable_config(), 1);
  for (const std::int64_t passes : {2, 4, 8}) {
    const Trained parts = train_small(variable_config(), passes);
    // Sums of fp32 in another order: a few units in the last place a step.
    EXPECT_LT((whole.values - parts.values).abs().max().item<float>(), 1e-5f)
        << passes;
    EXPECT_NEAR(whole.last.loss_sum.item<float>(),
                parts.last.loss_sum.item<float>(), 1e-3);
  }
}

TEST(Single, SendsNothingAndTimesEveryPiece) {
  const Trained trained = train_small(variable_config(), 2);
  for (const StepSample& s : trained.steps) {
    EXPECT_GT(s.forward_s, 0);
    EXPECT_GT(s.backward_s, 0);
    EXPECT_GT(s.optim_s, 0);
    EXPECT_EQ(s.comm_s, 0);
    EXPECT_LE(s.forward_s + s.backward_s + s.optim_s, s.step_s * 1.0001);
  }
}

TEST(Single, ClippingShrinksTheStep) {
  RunConfig clipped = variable_config();
  clipped.train.clip_norm = 1e-3;
  torch::manual_seed(3);
  const at::Tensor start =
      FlatParams(*make_model(clipped.model).module).values().clone();
  const double moved =
      (train_small(clipped, 1).values - start).norm().item<double>();
  // Three plain SGD steps, each of rate 0.1 along a gradient of norm 1e-3.
  EXPECT_LE(moved, 3 * 0.1 * 1e-3 * 1.01);
  EXPECT_GT(moved, 1e-5);
}

TEST(Pass, Bf16GivesFp32LogitsNearTheFp32Ones) {
  RunConfig config = variable_config();
  torch::manual_seed(5);
  const Model model = make_model(config.model);
  const at::Tensor x = random_clips(4);
  const at::Tensor exact = forward(model, x, config.train);
  config.train.precision = Precision::bf16;
  const at::Tensor rough = forward(model, x, config.train);
  EXPECT_EQ(rough.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(exact, rough));
  EXPECT_LT((exact - rough).norm().item<float>(),
            0.03f * exact.norm().item<float>());
}

}  // namespace
}  // namespace lockstep
