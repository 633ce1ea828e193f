// SPDX-License-Identifier: Apache-2.0
// Whole transformers in bf16 through our kernels. Reference: the same model in
// fp64 on the CPU, which runs LibTorch's operations.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/comm/thread_group.h"
#include "lockstep/measure/recorder.h"
#include "lockstep/model/model.h"
#include "lockstep/optim/flat_params.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/strategy/pass.h"
#include "lockstep/strategy/strategy.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using TransformersOnGpu = GpuTest;

// Three heads of 64, an odd vocabulary.
ModelConfig small_gpt() {
  return {.kind = ModelKind::gpt,
          .vocab = 1003,
          .context = 40,
          .layers = 2,
          .heads = 3,
          .width = 192};
}

// Weights that no rounding moves, none of them zero.
Model seeded_transformer(const ModelConfig& config) {
  torch::manual_seed(5);
  Model model = make_model(config);
  const at::NoGradGuard no_grad;
  for (const at::Tensor& p : model.module->parameters())
    p.copy_((p + at::randn_like(p) * 0.02).to(at::kBFloat16));
  return model;
}

// One pass of ours as strategies run it, backward included.
struct Pass {
  at::Tensor logits;
  double loss_sum;
  std::vector<at::Tensor> grads;
};

Pass our_pass(const ModelConfig& config, const at::Tensor& inputs,
              const at::Tensor& targets) {
  Pass out;
  run_ranks(1, {}, [&](Group& group) {
    RunConfig run;
    run.model = config;
    run.train.precision = Precision::bf16;
    const auto device = open_device("cuda");
    Model model = seeded_transformer(config);
    model.module->to(device->torch());
    FlatParams params(*model.module);
    params.cast_to_half();
    Recorder recorder(0, device->time_source(), {.record = false});
    const std::int64_t samples = inputs.size(0);
    StepOutcome outcome;
    const PassRoot root = forward_pass(
        {run, model, params, *device, group, recorder},
        {inputs.to(device->torch()), targets.to(device->torch()), samples},
        samples, outcome);
    root.backward();
    params.settle_grads();
    out.logits = root.from.detach().cpu();
    out.loss_sum = outcome.loss_sum.item<double>();
    for (const at::Tensor& p : params.params())
      out.grads.push_back(p.grad().cpu());
  });
  return out;
}

void compare_transformer(const ModelConfig& config, const at::Tensor& inputs,
                         const at::Tensor& targets) {
  const Model theirs = seeded_transformer(config);
  theirs.module->to(at::kDouble);
  const at::Tensor expected = theirs.forward(
      inputs.is_floating_point() ? inputs.to(at::kDouble) : inputs);
  const at::Tensor loss = loss_of(expected, targets, 0);
  loss.backward();
  const Pass ours = our_pass(config, inputs, targets);
  EXPECT_LT(distance(ours.logits, expected), 2e-2);
  EXPECT_NEAR(ours.loss_sum,
              loss.item<double>() * static_cast<double>(inputs.size(0)),
              1e-2 * ours.loss_sum);
  const auto names = theirs.module->named_parameters();
  for (std::size_t i = 0; i < ours.grads.size(); ++i)
    EXPECT_LT(distance(ours.grads[i], names[i].value().grad()), 0.05)
        << names[i].key();
}

TEST_F(TransformersOnGpu, GiveTheGradientsOfFp64) {
  torch::manual_seed(9);
  compare_transformer(small_gpt(), at::randint(1003, {3, 40}, at::kLong),
                      at::randint(1003, {3, 40}, at::kLong));
  compare_transformer({.kind = ModelKind::vit_tiny, .classes = 10},
                      random({2, 3, 224, 224}),
                      at::randint(10, {2}, at::kLong));
}

std::vector<double> losses_of(GraphUse graph) {
  std::vector<double> out;
  run_ranks(1, {}, [&](Group& group) {
    RunConfig config;
    config.model = small_gpt();
    config.train.precision = Precision::bf16;
    config.train.graph = graph;
    config.optim = {.kind = OptimKind::adamw, .lr = 1e-3};
    const auto device = open_device("cuda");
    Model model = seeded_transformer(config.model);
    model.module->to(device->torch());
    FlatParams params(*model.module);
    Optimizer optimizer(config.optim, params, *device);
    Recorder recorder(0, device->time_source(), {.record = false});
    const auto strategy =
        make_strategy({config, model, params, *device, group, recorder});
    torch::manual_seed(2);
    const at::Tensor x =
        at::randint(1003, {4, 40}, at::kLong).to(device->torch());
    for (int step = 0; step < 12; ++step)
      out.push_back(strategy
                        ->step({.passes = {{x, x, 4}},
                                .global_samples = 4,
                                .lr = config.optim.lr},
                               optimizer)
                        .loss_sum.item<double>());
    EXPECT_EQ(strategy->notes().at("steps_replayed").get<int>(),
              graph == GraphUse::on ? 11 : 0);
  });
  return out;
}

// Attention's gradient adds up in an order of its own: not the same bits.
TEST_F(TransformersOnGpu, LearnTheSameCapturedAndStepByStep) {
  const std::vector<double> captured = losses_of(GraphUse::on);
  const std::vector<double> plain = losses_of(GraphUse::off);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_NEAR(captured[i], plain[i], 0.02 * plain[i]) << "step " << i;
  EXPECT_LT(captured.back(), 0.8 * captured.front());
}

}  // namespace
}  // namespace lockstep
