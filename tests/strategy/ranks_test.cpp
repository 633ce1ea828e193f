// SPDX-License-Identifier: Apache-2.0
// The same questions to every strategy that shares gradients in buckets: does
// it send what it planned, are shares, passes and parameters of any kind right.
// Under a hook they are asked of every way to train on several ranks.
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "lockstep/comm/emulated_group.h"
#include "tests/strategy/training.h"

namespace lockstep {
namespace {

using testing::Ended;
using testing::largest_difference;
using testing::Scene;
using testing::small_config;
using testing::train;

constexpr StrategyKind kStrategies[] = {StrategyKind::ddp,
                                        StrategyKind::sharded};

class EachStrategy : public ::testing::TestWithParam<StrategyKind> {};
std::string word_of(const ::testing::TestParamInfo<StrategyKind>& kind) {
  RunConfig config;
  config.strategy.kind = kind.param;
  return word(config, "strategy.kind");
}
INSTANTIATE_TEST_SUITE_P(All, EachStrategy, ::testing::ValuesIn(kStrategies),
                         word_of);

TEST_P(EachStrategy, SendsExactlyWhatItPlanned) {
  for (const ModelKind model : {ModelKind::variable, ModelKind::resnet18}) {
    const std::vector<Ended> ended =
        train({.config = small_config(model, GetParam()), .ranks = 2});
    for (const Ended& rank : ended) {
      ASSERT_EQ(rank.messages.size(), 2 * rank.plan.size());
      EXPECT_GT(rank.plan.size(), 2U);
      for (std::size_t i = 0; i < rank.messages.size(); ++i) {
        const CommSample& sent = rank.messages[i];
        const Message& planned = rank.plan[i % rank.plan.size()];
        EXPECT_EQ(sent.op, word(planned.op));
        EXPECT_EQ(sent.payload, word(planned.payload));
        EXPECT_EQ(sent.bytes, planned.bytes);
        EXPECT_LE(sent.issued_s, sent.begin_s);
        EXPECT_LE(sent.begin_s, sent.end_s);
      }
    }
  }
}

TEST_P(EachStrategy, TimesAddUpToTheStep) {
  const Ended rank =
      train(
          {.config = small_config(ModelKind::resnet18, GetParam()), .ranks = 2})
          .front();
  for (const StepSample& s : rank.steps) {
    EXPECT_GT(s.comm_s, 0);
    EXPECT_GE(s.exposed_comm_s, 0);
    EXPECT_LE(s.exposed_comm_s, s.comm_s * 1.0001);
    EXPECT_NEAR(s.data_s + s.copy_s + s.forward_s + s.backward_s +
                    s.exposed_comm_s + s.wait_s + s.optim_s,
                s.step_s, 1e-9);
  }
}

TEST_P(EachStrategy, SharesOfAnySizeGiveTheMeanOverAllSamples) {
  // Five samples for three ranks, then two: the last rank has none.
  Scene scene{.config = small_config(ModelKind::variable, GetParam()),
              .ranks = 3,
              .steps = 3,
              .batch = 5,
              .last_batch = 2};
  const Ended ended = train(scene).back();
  scene.config.strategy.kind = StrategyKind::single;
  scene.ranks = 1;
  EXPECT_LT(largest_difference(ended.values, train(scene).front().values),
            2e-6);
}

TEST_P(EachStrategy, AccumulatesWithoutSendingMore) {
  Scene scene{.config = small_config(ModelKind::variable, GetParam()),
              .ranks = 2,
              .batch = 7};
  const Ended once = train(scene).front();
  scene.config.batch.accumulate = 3;
  const Ended thrice = train(scene).front();
  EXPECT_EQ(once.messages.size(), thrice.messages.size());
  EXPECT_LT(largest_difference(once.values, thrice.values), 2e-6);
}

TEST_P(EachStrategy, AnUnusedParameterStaysWhatItWas) {
  for (const bool always : {true, false}) {
    Scene scene{.config = small_config(ModelKind::variable, GetParam()),
                .ranks = 2,
                .steps = 3};
    scene.config.optim.momentum = 0;
    scene.change_model = [&](Model& model, int) {
      const at::Tensor p =
          model.module->register_parameter("spare", at::full({1, 10}, 0.5));
      // Used in the first step only, or never.
      model.forward = [p, inner = model.forward, always,
                       step = std::make_shared<int>(0)](const at::Tensor& x) {
        return !always && (*step)++ == 0 ? inner(x) * (1 + p) : inner(x);
      };
    };
    const std::vector<Ended> ended = train(scene);
    EXPECT_TRUE(at::equal(ended[0].values, ended[1].values));
    scene.config.strategy.kind = StrategyKind::single;
    scene.ranks = 1;
    EXPECT_LT(largest_difference(ended[0].values, train(scene).front().values),
              2e-6);
  }
}

TEST_P(EachStrategy, ASharedParameterIsSentOnceWithBothGradients) {
  Scene scene{.config = small_config(ModelKind::variable, GetParam()),
              .ranks = 2};
  scene.change_model = [](Model& model, int) {
    const at::Tensor w = model.module->register_parameter("twice", at::eye(10));
    model.forward = [w, inner = model.forward](const at::Tensor& x) {
      return inner(x).matmul(w).relu().matmul(w);
    };
  };
  const std::vector<Ended> ended = train(scene);
  scene.config.strategy.kind = StrategyKind::single;
  scene.ranks = 1;
  EXPECT_LT(largest_difference(ended[0].values, train(scene).front().values),
            2e-6);
}

TEST_P(EachStrategy, RunningStatisticsAreRankZerosAtTheNextStep) {
  Scene scene{.config = small_config(ModelKind::resnet18, GetParam()),
              .ranks = 2,
              .steps = 1};
  const std::vector<Ended> one = train(scene);
  EXPECT_FALSE(at::equal(one[0].buffers, one[1].buffers));
  // Rank 1 has no samples in the second step: what it holds then was sent.
  scene.steps = 2, scene.last_batch = 1;
  EXPECT_TRUE(at::equal(train(scene)[1].buffers, one[0].buffers));
}

struct Hooked {
  testing::Way way;
  HookKind hook;
};

std::vector<Hooked> hooked_ways() {
  std::vector<Hooked> out;
  for (const testing::Way& way : testing::kWays)
    for (const HookKind hook : testing::kHooks) out.push_back({way, hook});
  return out;
}

std::string hooked_name(const ::testing::TestParamInfo<Hooked>& info) {
  RunConfig config;
  config.strategy.hook = info.param.hook;
  return std::string(info.param.way.name) + "_" + word(config, "strategy.hook");
}

class EachHook : public ::testing::TestWithParam<Hooked> {
 protected:
  static Scene scene(ModelKind model, int ranks) {
    Scene out{.config = small_config(model, GetParam().way), .ranks = ranks};
    out.config.batch.global = out.batch;
    out.config.strategy.hook = GetParam().hook;
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(All, EachHook, ::testing::ValuesIn(hooked_ways()),
                         hooked_name);

TEST_P(EachHook, SendsExactlyWhatItPlanned) {
  for (const ModelKind model : {ModelKind::variable, ModelKind::resnet18})
    for (const Ended& rank : train(scene(model, 2))) {
      ASSERT_EQ(rank.messages.size(), 2 * rank.plan.size());
      for (std::size_t i = 0; i < rank.messages.size(); ++i) {
        const Message& planned = rank.plan[i % rank.plan.size()];
        EXPECT_EQ(rank.messages[i].op, word(planned.op)) << i;
        EXPECT_EQ(rank.messages[i].payload, word(planned.payload)) << i;
        EXPECT_EQ(rank.messages[i].bytes, planned.bytes) << i;
      }
    }
}

// One rank that stands for four: the others hold zeros, and nobody the mean of
// nothing.
TEST_P(EachHook, SendsItToAnEmulatedClusterToo) {
  if (GetParam().way.kind == StrategyKind::data_parallel) return;
  const Scene four = scene(ModelKind::variable, 4);
  const auto group =
      make_emulated_group(4, [](Collective, std::int64_t, int) { return 0.0; });
  const Ended ended =
      testing::train_rank(four, testing::batches_of(four), *group);
  ASSERT_EQ(ended.messages.size(), 2 * ended.plan.size());
  EXPECT_EQ(ended.messages.front().bytes, ended.plan.front().bytes);
  EXPECT_TRUE(ended.values.isfinite().all().item<bool>());
}

// How far from where it ends without a hook, of the way it goes: a cast rounds
// what each rank sends and then the sum; all entries and factors of full rank
// leave nothing out, and another order of sums remains.
double bound_of(HookKind hook) {
  return hook == HookKind::bf16   ? 1.0 / 128
         : hook == HookKind::fp16 ? 1.0 / 1024
                                  : 1e-5;
}

double apart(Scene scene) {
  const std::vector<Ended> hooked = train(scene);
  EXPECT_TRUE(at::equal(hooked.front().values, hooked.back().values));
  scene.config.strategy.hook = HookKind::none;
  const at::Tensor plain = train(scene).front().values;
  scene.steps = 0;
  const at::Tensor start = train(scene).front().values;
  return ((hooked.front().values - plain).norm() / (plain - start).norm())
      .item<double>();
}

TEST_P(EachHook, EndsNearWhereItEndsWithoutOne) {
  // Shares of any size: in the last step of three and four ranks one has none.
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const std::int64_t passes : {1, 2}) {
      Scene s = scene(ModelKind::variable, ranks);
      s.steps = 4, s.batch = 9, s.last_batch = 2;
      s.config.batch.accumulate = passes;
      s.config.strategy.topk_share = 1;
      s.config.strategy.powersgd_rank = 1024;
      EXPECT_LT(apart(s), bound_of(GetParam().hook)) << ranks << " " << passes;
    }
}

// A rank that updates its share of the sum needs no other sum than ddp's.
TEST(Hooks, ShardedEndsWithTheBitsOfDdp) {
  for (const HookKind hook : testing::kHooks) {
    Scene scene{.config = small_config(ModelKind::variable, StrategyKind::ddp,
                                       OptimKind::adam),
                .ranks = 3,
                .steps = 3,
                .batch = 7};
    scene.config.strategy.hook = hook;
    scene.config.strategy.topk_share = 0.05;
    const at::Tensor ddp = train(scene).front().values;
    scene.config.strategy.kind = StrategyKind::sharded;
    for (const Ended& rank : train(scene))
      EXPECT_TRUE(at::equal(rank.values, ddp)) << static_cast<int>(hook);
  }
}

}  // namespace
}  // namespace lockstep
