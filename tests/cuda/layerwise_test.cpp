// SPDX-License-Identifier: Apache-2.0
// LARS and LAMB on a GPU against the CPU's, twenty steps over tensors of odd
// sizes, with every option. Both sum squares in double.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/optim/clip.h"
#include "lockstep/optim/optimizer.h"
#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using LayerwiseOnGpu = GpuTest;

// Of one element, of one more than a block's share, of many blocks; biases in
// between, alone and side by side; one that begins at zero.
struct Odd : torch::nn::Module {
  Odd() {
    torch::manual_seed(5);
    const std::vector<std::vector<std::int64_t>> sizes = {
        {1, 1},  {3},  {5, 7},    {1},        {4'097, 1}, {64, 9, 3},
        {9'001}, {17}, {33, 129}, {4'096, 3}, {2, 2},     {1'001, 333}};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      register_parameter("p" + std::to_string(i), at::randn(sizes[i]) / 10);
    const torch::NoGradGuard no_grad;
    parameters()[10].zero_();
  }
};

struct Way {
  std::string device;
  bool rates_on_device = false;
  double clip_norm = 0;
};

struct Ended {
  at::Tensor values;
  std::vector<at::Tensor> state;
  std::vector<Slice> slices;
};

Ended twenty_steps(const OptimConfig& config, const Way& way) {
  const auto device = open_device(way.device);
  Odd module;
  module.to(device->torch());
  FlatParams params(module);
  Optimizer optimizer(config, params, *device);
  torch::manual_seed(6);
  for (int step = 0; step < 20; ++step) {
    at::Tensor grads = at::randn({params.grads().numel()}) / 50;
    // The tensor of 5 x 7 never has a gradient.
    grads.narrow(0, params.slices()[2].begin, 35).zero_();
    params.grads().copy_(grads);
    const double lr = config.lr / (1 + step);
    if (way.rates_on_device) {
      optimizer.begin_step(lr);
      optimizer.end_step(way.clip_norm);
    } else {
      optimizer.step(lr, clip_scale(grad_norm(params), way.clip_norm));
    }
    EXPECT_EQ(params.grads().count_nonzero().item<std::int64_t>(), 0);
  }
  Ended out{params.values().cpu(), {}, params.slices()};
  for (const auto& [name, state] : optimizer.state())
    out.state.push_back(state.cpu());
  return out;
}

void expect_ends_near(const Ended& ours, const Ended& theirs) {
  const auto near = [](const at::Tensor& a, const at::Tensor& b) {
    return (a - b).norm().item<double>() <= 3e-6 * b.norm().item<double>();
  };
  for (const Slice& slice : theirs.slices) {
    const auto part = [&](const at::Tensor& t) {
      return t.narrow(0, slice.begin, slice.numel).to(at::kDouble);
    };
    EXPECT_TRUE(near(part(ours.values), part(theirs.values))) << slice.name;
    for (std::size_t i = 0; i < theirs.state.size(); ++i)
      EXPECT_TRUE(near(part(ours.state[i]), part(theirs.state[i])))
          << slice.name << " state " << i;
  }
}

std::vector<OptimConfig> all_options() {
  std::vector<OptimConfig> out;
  for (const bool clip : {false, true})
    for (const bool all : {false, true}) {
      out.push_back({.kind = OptimKind::lamb,
                     .lr = 0.05,
                     .weight_decay = 0.1,
                     .decay_norm_and_bias = all,
                     .eps = 1e-6,
                     .trust_clip = clip});
      for (const double momentum : {0.0, 0.9})
        for (const bool nesterov : {false, true})
          if (momentum > 0 || !nesterov)
            out.push_back({.kind = OptimKind::lars,
                           .lr = 0.5,
                           .momentum = momentum,
                           .nesterov = nesterov,
                           .weight_decay = 0.05,
                           .decay_norm_and_bias = all,
                           .trust_coefficient = 0.1,
                           .trust_clip = clip});
    }
  return out;
}

TEST_F(LayerwiseOnGpu, EndsWhereTheCpuEndsWithEveryOption) {
  for (const OptimConfig& config : all_options())
    for (const double clip_norm : {0.0, 2.0}) {
      SCOPED_TRACE(::testing::Message()
                   << (config.kind == OptimKind::lars ? "lars" : "lamb")
                   << " momentum " << config.momentum << " nesterov "
                   << config.nesterov << " decay_norm_and_bias "
                   << config.decay_norm_and_bias << " trust_clip "
                   << config.trust_clip << " clip_norm " << clip_norm);
      const Ended cpu = twenty_steps(config, {"cpu", false, clip_norm});
      for (const bool rates : {false, true})
        expect_ends_near(twenty_steps(config, {"cuda", rates, clip_norm}), cpu);
    }
}

TEST_F(LayerwiseOnGpu, GivesTheSameBitsEveryTime) {
  for (const OptimConfig& config : all_options()) {
    const Ended once = twenty_steps(config, {"cuda"});
    EXPECT_TRUE(at::equal(once.values, twenty_steps(config, {"cuda"}).values));
    EXPECT_TRUE(
        at::equal(once.values, twenty_steps(config, {"cuda", true}).values));
  }
}

}  // namespace
}  // namespace lockstep
