// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/sync_batchnorm.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/model/batch_norm.h"
#include "tests/strategy/training.h"

namespace lockstep {
namespace {

using testing::Ended;
using testing::relative;
using testing::Scene;
using testing::small_config;
using testing::train;

// One BatchNorm: what goes through it both ways.
struct Through {
  at::Tensor out, input_grad, weight_grad, bias_grad, mean, var;
};

Through pass(const Model& model, BatchNorm2d& norm, const at::Tensor& in,
             const at::Tensor& weights) {
  at::Tensor x = in.clone().requires_grad_();
  const at::Tensor y = model.forward(x);
  // A loss that is not a plain sum, or nothing would flow through mean and
  // variance.
  (y.square() * weights + y * weights).sum().backward();
  return {y.detach(),        x.grad(),           norm->weight.grad(),
          norm->bias.grad(), norm->running_mean, norm->running_var};
}

BatchNorm2d make_norm() {
  BatchNorm2d norm(3);
  const at::NoGradGuard no_grad;
  norm->weight.copy_(at::tensor({0.5f, 1.0f, -2.0f}));
  norm->bias.copy_(at::tensor({0.1f, 0.0f, 1.0f}));
  return norm;
}

// The shares of each rank of `in`, which may be empty.
Through pass_on_ranks(const std::vector<std::int64_t>& shares,
                      const at::Tensor& in, const at::Tensor& weights) {
  const int ranks = static_cast<int>(shares.size());
  std::vector<Through> parts(shares.size());
  run_ranks(ranks, {.deadline_s = 20, .threads = 1}, [&](Group& group) {
    const auto me = static_cast<std::size_t>(group.rank());
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < me; ++r) begin += shares[r];
    BatchNorm2d norm = make_norm();
    Model model{norm.ptr(),
                [norm](const at::Tensor& x) mutable { return norm(x); }};
    const auto device = open_device("cpu");
    const FlatParams params(*norm);  // gradients of zero, not none
    Recorder recorder(group.rank(), device->time_source(), {});
    synchronise_batchnorm(*norm, group, recorder);
    parts[me] = pass(model, norm, in.narrow(0, begin, shares[me]),
                     weights.narrow(0, begin, shares[me]));
  });
  Through all = parts[0];
  for (std::size_t r = 1; r < parts.size(); ++r) {
    all.out = at::cat({all.out, parts[r].out});
    all.input_grad = at::cat({all.input_grad, parts[r].input_grad});
    all.weight_grad = all.weight_grad + parts[r].weight_grad;
    all.bias_grad = all.bias_grad + parts[r].bias_grad;
    EXPECT_TRUE(at::equal(all.mean, parts[r].mean));
    EXPECT_TRUE(at::equal(all.var, parts[r].var));
  }
  return all;
}

TEST(SyncBatchNorm, EqualsOneRankWithTheWholeBatchBothWays) {
  torch::manual_seed(5);
  // Far from zero: a sum of squares would lose the variance to rounding.
  const at::Tensor in = at::randn({7, 3, 4, 5}) + 30;
  const at::Tensor weights = at::randn({7, 3, 4, 5});
  BatchNorm2d plain = make_norm();
  const Model model{plain.ptr(),
                    [plain](const at::Tensor& x) mutable { return plain(x); }};
  const Through whole = pass(model, plain, in, weights);
  for (const std::vector<std::int64_t>& shares :
       {std::vector<std::int64_t>{7}, {4, 3}, {3, 2, 2}, {6, 1}, {4, 3, 0}}) {
    const Through t = pass_on_ranks(shares, in, weights);
    EXPECT_LT(relative(t.out, whole.out), 1e-5) << shares.size();
    EXPECT_LT(relative(t.input_grad, whole.input_grad), 1e-4);
    EXPECT_LT(relative(t.weight_grad, whole.weight_grad), 1e-4);
    EXPECT_LT(relative(t.bias_grad, whole.bias_grad), 1e-5);
    EXPECT_LT(relative(t.mean, whole.mean), 1e-6);
    EXPECT_LT(relative(t.var, whole.var), 1e-5);
  }
}

TEST(SyncBatchNorm, WithoutItOursIsTorchsToTheBit) {
  torch::manual_seed(5);
  const at::Tensor in = at::randn({4, 3, 2, 2});
  BatchNorm2d ours(3);
  torch::nn::BatchNorm2d torchs(3);
  EXPECT_TRUE(at::equal(ours(in), torchs(in)));
  EXPECT_TRUE(at::equal(ours->running_var, torchs->running_var));
}

// Whole models. Two samples leave a rank without any, whose word the others
// wait for all the same. One step: BatchNorms amplify the order of sums.
class SyncedWay : public ::testing::TestWithParam<testing::Way> {};

TEST_P(SyncedWay, EndsWhereOneRankWithTheWholeBatchEnds) {
  for (const ModelKind model : {ModelKind::resnet18, ModelKind::mobilenet_v2})
    for (const std::int64_t batch : {7, 2}) {
      Scene scene{.config = small_config(model, GetParam()),
                  .ranks = 3,
                  .steps = 1,
                  .batch = batch};
      scene.config.strategy.sync_batchnorm = true;
      const std::vector<Ended> ended = train(scene);
      for (const Ended& rank : ended) {
        EXPECT_TRUE(at::equal(rank.values, ended.front().values));
        EXPECT_TRUE(at::equal(rank.buffers, ended.front().buffers));
      }
      scene.config.strategy = {.kind = StrategyKind::single};
      scene.ranks = 1;
      const Ended whole = train(scene).front();
      EXPECT_LT(relative(ended.front().values, whole.values), 1e-3)
          << model_name(model) << " " << batch;
      EXPECT_LT(relative(ended.front().buffers, whole.buffers), 1e-3)
          << model_name(model) << " " << batch;
    }
}

// Ranks of local_sgd train alone: there the setting is refused.
std::vector<testing::Way> synced_ways() {
  std::vector<testing::Way> out;
  for (const testing::Way& way : testing::kWays)
    if (way.kind != StrategyKind::local_sgd) out.push_back(way);
  return out;
}
INSTANTIATE_TEST_SUITE_P(SyncBatchNorm, SyncedWay,
                         ::testing::ValuesIn(synced_ways()),
                         [](const auto& way) {
                           return std::string(way.param.name);
                         });

// Statistics mix with gradients in backward: each kind keeps its order.
TEST(SyncBatchNorm, DdpSendsExactlyWhatItPlanned) {
  Scene scene{.config = small_config(ModelKind::resnet18, StrategyKind::ddp),
              .ranks = 2,
              .steps = 1};
  scene.config.strategy.sync_batchnorm = true;
  scene.config.batch.accumulate = 2;
  const Ended rank = train(scene).front();
  ASSERT_EQ(rank.messages.size(), rank.plan.size());
  for (const Payload payload :
       {Payload::buffers, Payload::norm_statistics, Payload::gradients}) {
    std::vector<std::int64_t> planned, sent;
    for (const Message& m : rank.plan)
      if (m.payload == payload) planned.push_back(m.bytes);
    for (const CommSample& m : rank.messages)
      if (m.payload == word(payload)) sent.push_back(m.bytes);
    EXPECT_EQ(sent, planned) << word(payload);
  }
}

struct WithTorchs : torch::nn::Module {
  WithTorchs() { register_module("norm", torch::nn::BatchNorm2d(2)); }
};

struct WithNone : torch::nn::Module {
  WithNone() { register_parameter("w", at::ones({2})); }
};

template <class Module>
void expect_refused() {
  run_ranks(1, {}, [&](Group& group) {
    Module module;  // on the stack, as programs have it
    const auto device = open_device("cpu");
    Recorder recorder(0, device->time_source(), {});
    try {
      synchronise_batchnorm(module, group, recorder);
      FAIL() << "it must not be left out silently";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::config);
    }
  });
}

TEST(SyncBatchNorm, ANormThatCannotBeToldIsRefused) {
  expect_refused<WithTorchs>();
}

TEST(SyncBatchNorm, AModelWithoutOneIsRefused) { expect_refused<WithNone>(); }

}  // namespace
}  // namespace lockstep
