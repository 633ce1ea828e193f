// SPDX-License-Identifier: Apache-2.0
// Golden gains: fairscale's AdaScale tests (2 ranks, Linear(2, 2) with bias,
// the loss is the sum of outputs). Which number is which: docs/batch-size.md.
#include "lockstep/strategy/grad_norms.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include "lockstep/batch/learning_rate_rules.h"
#include "lockstep/batch/noise_scale.h"
#include "lockstep/optim/flat_params.h"

namespace lockstep {
namespace {

struct Golden {
  std::vector<float> first, second;
  double variance, gradient_sq, gain;
};

const std::vector<Golden> kGolden = {
    {{1, 0}, {0, 1}, 2, 2, 4.0 / 3},
    {{-1, 1}, {1, -1}, 8, 0, 2},
    {{1, 4}, {5, 0.5f}, 28.25, 16, 1.4688796680497926},
    {{-0.2f, 3}, {5, 0.5f}, 33.29, 3.0, 1.84728939},
};

// Two passes of one example each, as one rank accumulates them.
GradNorms by_passes(const Golden& g) {
  torch::nn::Linear net(2, 2);
  FlatParams params(*net);
  GradNorms norms;
  const auto pass = [&](const std::vector<float>& x, bool more) {
    (net(torch::tensor(x).view({1, 2})).sum() * 0.5).backward();
    params.settle_grads();
    norms.add_pass(params.grads(), 1, 0.5, more);
  };
  pass(g.first, true), pass(g.second, false);
  norms.add_whole(params.grads());
  return norms;
}

// The same as two ranks see it: each sends its own in two buckets.
GradNorms by_ranks(const Golden& g) {
  GradNorms norms;
  at::Tensor sum;
  for (const auto* x : {&g.first, &g.second}) {
    torch::nn::Linear net(2, 2);
    FlatParams params(*net);
    (net(torch::tensor(*x).view({1, 2})).sum() * 0.5).backward();
    norms.add_sent(params.grads().narrow(0, 0, 4));
    norms.add_sent(params.grads().narrow(0, 4, 2));
    norms.end_sent(1, 0.5);
    sum = sum.defined() ? sum + params.grads() : params.grads().clone();
  }
  norms.add_whole(sum.narrow(0, 0, 3), true);
  norms.add_whole(sum.narrow(0, 3, 3), true);
  return norms;
}

void expect_golden(const GradNorms& norms, const Golden& g) {
  ASSERT_EQ(norms.parts().size(), 2u);
  const double mean = (norms.parts()[0].sq.item<double>() +
                       norms.parts()[1].sq.item<double>()) /
                      2;
  const NoiseSample s =
      micro_gradient_estimate({.mean_of_sq = mean,
                               .sq_of_mean = norms.whole_sq().item<double>(),
                               .count = 2,
                               .micro_batch = 1});
  NoiseAverage average;
  average.add(s, 0.5);
  EXPECT_NEAR(average.variance(1), g.variance, 1e-5);
  EXPECT_NEAR(average.gradient_sq(), g.gradient_sq, 1e-5);
  EXPECT_NEAR(adascale_gain(average.variance(1), average.gradient_sq(), 2),
              g.gain, 1e-6);
}

TEST(GradNorms, OfAccumulatedPassesGiveTheGoldenGains) {
  for (const Golden& g : kGolden) expect_golden(by_passes(g), g);
}

TEST(GradNorms, OfRanksGiveTheGoldenGains) {
  for (const Golden& g : kGolden) expect_golden(by_ranks(g), g);
}

TEST(GradNorms, LeaveGradientsAsTheyAre) {
  torch::nn::Linear net(3, 2);
  FlatParams params(*net);
  GradNorms norms;
  for (int i = 0; i < 3; ++i) {
    net(torch::ones({1, 3}) * i).square().sum().backward();
    const at::Tensor before = params.grads().clone();
    params.settle_grads();
    norms.add_pass(params.grads(), 1, 1.0 / 3, i < 2);
    EXPECT_TRUE(torch::equal(params.grads(), before));
  }
  EXPECT_EQ(norms.parts().size(), 3u);
}

TEST(GradNorms, ARankWithoutSamplesHasNoPart) {
  GradNorms norms;
  norms.add_sent(torch::zeros({4}));
  norms.end_sent(0, 0);
  EXPECT_TRUE(norms.parts().empty());
}

}  // namespace
}  // namespace lockstep
