// SPDX-License-Identifier: Apache-2.0
// The same questions to every strategy that shares gradients: does it end
// where one rank with the whole batch ends, does it send what it planned, is a
// lost rank an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
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

struct Trial {
  StrategyKind strategy;
  ModelKind model;
  OptimKind optim;
};

std::string name_of(const ::testing::TestParamInfo<Trial>& info) {
  RunConfig config;
  config.strategy.kind = info.param.strategy;
  config.model.kind = info.param.model;
  config.optim.kind = info.param.optim;
  return word(config, "strategy.kind") + "_" + word(config, "model.kind") +
         "_" + word(config, "optim.kind");
}

std::vector<Trial> trials() {
  std::vector<Trial> out;
  for (const StrategyKind strategy : kStrategies)
    for (const ModelKind model :
         {ModelKind::linear, ModelKind::conv1d, ModelKind::variable,
          ModelKind::resnet18, ModelKind::mobilenet_v2, ModelKind::vit_tiny,
          ModelKind::gpt})
      for (const OptimKind optim : {OptimKind::sgd, OptimKind::adam})
        out.push_back({strategy, model, optim});
  return out;
}

bool has_batch_norm(ModelKind model) {
  return model == ModelKind::resnet18 || model == ModelKind::mobilenet_v2;
}

// One rank with the whole batch. BatchNorm takes its statistics from the
// samples of one pass, so there the whole batch comes in as many passes as
// there are ranks.
Scene alone(const Trial& trial, int ranks) {
  Scene scene{.config =
                  small_config(trial.model, StrategyKind::single, trial.optim)};
  if (has_batch_norm(trial.model)) scene.config.batch.accumulate = ranks;
  return scene;
}

class Ranks : public ::testing::TestWithParam<Trial> {};

// Sums of fp32 in another order: some units in the last place of a gradient.
TEST_P(Ranks, EndWhereOneRankWithTheWholeBatchEnds) {
  const Trial trial = GetParam();
  Ended whole = train(alone(trial, 1)).front();
  for (const int ranks : {1, 2, 3, 4}) {
    if (ranks > 1 && has_batch_norm(trial.model))
      whole = train(alone(trial, ranks)).front();
    const std::vector<Ended> ended =
        train({.config = small_config(trial.model, trial.strategy, trial.optim),
               .ranks = ranks});
    for (const Ended& rank : ended)
      EXPECT_TRUE(at::equal(rank.values, ended.front().values)) << ranks;
    const double off = largest_difference(whole.values, ended.front().values);
    if (ranks == 1)
      EXPECT_EQ(off, 0);
    else
      EXPECT_LT(off, 2e-6) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, Ranks, ::testing::ValuesIn(trials()),
                         name_of);

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
    scene.change_model = [&](Model& model) {
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
  scene.change_model = [](Model& model) {
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

// Rank 2 fails in its second step, in forward or in backward.
std::function<void(Model&)> fail_in(bool backward) {
  return [backward](Model& model) {
    const auto calls = std::make_shared<int>(0);
    model.forward = [inner = model.forward, calls,
                     backward](const at::Tensor& x) {
      at::Tensor out = inner(x);
      if (x.size(0) != 1 || ++*calls < 2) return out;  // rank 2's share is one
      if (!backward) throw Error(Fault::device, "rank 2", "out of paper");
      out.register_hook([](const at::Tensor& g) -> at::Tensor {
        throw Error(Fault::device, "rank 2", "out of paper");
        return g;
      });
      return out;
    };
  };
}

TEST_P(EachStrategy, ARankThatFailsIsNamedToTheOthersAtOnce) {
  for (const bool backward : {false, true}) {
    Scene scene{.config = small_config(ModelKind::variable, GetParam()),
                .ranks = 3,
                .batch = 5,
                .change_model = fail_in(backward)};
    const double begin = now_s();
    try {
      train(scene);
      FAIL() << "a failing rank went unnoticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("out of paper"));
      EXPECT_EQ(error.fault(), Fault::device);
    }
    EXPECT_LT(now_s() - begin, 20);
  }
}

TEST_P(EachStrategy, ASilentRankIsLostAfterTheDeadline) {
  Scene scene{.config = small_config(ModelKind::variable, GetParam()),
              .ranks = 3,
              .before_step =
                  [](Group& group, std::int64_t step) {
                    if (group.rank() == 1 && step == 1)
                      std::this_thread::sleep_for(std::chrono::seconds(2));
                  },
              .deadline_s = 0.5};
  try {
    train(scene);
    FAIL() << "a silent rank went unnoticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::peer);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rank 1: no answer"));
  }
  // It is left behind with what the test gave it.
  std::this_thread::sleep_for(std::chrono::seconds(3));
}

}  // namespace
}  // namespace lockstep
