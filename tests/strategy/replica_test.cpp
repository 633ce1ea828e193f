// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/replica.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "lockstep/comm/thread_group.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using torch::nn::Linear;
using torch::nn::Sequential;

at::Tensor loss_of(Sequential& net, const at::Tensor& x) {
  return (net->forward(x) - x.sum(1, /*keepdim=*/true)).square().mean();
}

at::Tensor flat(const Sequential& net) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& p : net->parameters()) parts.push_back(p.flatten());
  return at::cat(parts).detach();
}

// A loop of one's own with torch's optimiser, on shares of seven samples.
at::Tensor train_replicas(int ranks, std::int64_t passes,
                          StrategyConfig config = {}) {
  torch::manual_seed(2);
  const at::Tensor x = at::randn({7, 5});
  Sequential start(Linear(5, 8), Linear(8, 1));
  at::Tensor out;
  run_ranks(ranks, {.deadline_s = 20, .threads = 1}, [&](Group& group) {
    Sequential net(Linear(5, 8), Linear(8, 1));
    if (group.rank() == 0) {  // the others' weights are their own
      const at::NoGradGuard no_grad;
      for (std::size_t i = 0; i < 4; ++i)
        net->parameters()[i].copy_(start->parameters()[i]);
    }
    Replica replica(*net, group, config);
    torch::optim::SGD optimizer(net->parameters(), 0.05);
    const at::Tensor own =
        x.index_select(0, at::arange(group.rank(), 7, ranks));
    for (int step = 0; step < 4; ++step) {
      replica.zero_grads();
      const std::vector<at::Tensor> parts = own.chunk(passes);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const double share = static_cast<double>(parts[i].size(0)) / 7;
        if (i + 1 < parts.size())
          replica.accumulate(loss_of(net, parts[i]), share);
        else
          replica.backward(loss_of(net, parts[i]), share);
      }
      optimizer.step();
    }
    if (group.rank() == 0) out = flat(net);
  });
  return out;
}

TEST(Replica, AnOwnLoopEndsWhereOneRankWithTheWholeBatchEnds) {
  const at::Tensor whole = train_replicas(1, 1);
  for (const int ranks : {2, 3, 4})
    EXPECT_LT((train_replicas(ranks, 1) - whole).abs().max().item<double>(),
              1e-6);
  EXPECT_LT((train_replicas(2, 2) - whole).abs().max().item<double>(), 1e-6);
}

TEST(Replica, HooksWorkInAnOwnLoop) {
  const at::Tensor whole = train_replicas(2, 1);
  const at::Tensor rounded = train_replicas(2, 1, {.hook = HookKind::bf16});
  EXPECT_FALSE(at::equal(rounded, whole));
  EXPECT_LT((rounded - whole).abs().max().item<double>(), 1e-2);
}

TEST(Replica, GradientsThatWereThrownAwayAreAnError) {
  run_ranks(1, {}, [](Group& group) {
    Sequential net(Linear(5, 8), Linear(8, 1));
    Replica replica(*net, group);
    net->zero_grad();  // sets them to none
    try {
      replica.backward(loss_of(net, at::randn({2, 5})));
      FAIL() << "nobody would have summed them";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.hint()).find("zero_grads"), std::string::npos);
    }
  });
}

}  // namespace
}  // namespace lockstep
