// SPDX-License-Identifier: Apache-2.0
#include "lockstep/strategy/data_parallel.h"

#include <gtest/gtest.h>

#include "lockstep/comm/emulated_group.h"
#include "lockstep/core/error.h"
#include "tests/strategy/training.h"

namespace lockstep {
namespace {

using testing::Ended;
using testing::kOrderOfSums;
using testing::largest_difference;
using testing::Scene;
using testing::small_config;
using testing::train;

Ended one_rank(Scene scene) {
  scene.config.strategy = {.kind = StrategyKind::single};
  scene.config.batch.accumulate = 1;
  scene.ranks = 1;
  return train(scene).front();
}

Scene replicas(ModelKind model, int ranks) {
  Scene out{.config = small_config(model, StrategyKind::data_parallel),
            .ranks = ranks};
  out.config.batch.global = out.batch;
  return out;
}

TEST(DataParallel, ALastBatchSmallerThanTheReplicasGivesItsMean) {
  for (const ModelKind model : {ModelKind::variable, ModelKind::gpt})
    for (const Route route : {Route::star, Route::ring}) {
      Scene scene = replicas(model, 3);
      scene.config.strategy.collective = route;
      scene.steps = 3, scene.batch = 5, scene.last_batch = 2;
      EXPECT_LT(largest_difference(train(scene).front().values,
                                   one_rank(scene).values),
                kOrderOfSums);
    }
}

TEST(DataParallel, AccumulatedPassesEndWhereTheWholeBatchEnds) {
  Scene scene = replicas(ModelKind::variable, 3);
  scene.config.batch.accumulate = 2;
  // The last step has a sample for one of its two passes only.
  scene.steps = 3, scene.batch = 7, scene.last_batch = 1;
  EXPECT_LT(
      largest_difference(train(scene).front().values, one_rank(scene).values),
      kOrderOfSums);
}

TEST(DataParallel, StarAndCollectiveGiveTheSameBits) {
  for (const HookKind hook : {HookKind::none, HookKind::bf16, HookKind::fp16,
                              HookKind::topk, HookKind::powersgd}) {
    Scene scene = replicas(ModelKind::variable, 3);
    scene.config.batch.accumulate = 2;
    scene.config.strategy.hook = hook;
    const at::Tensor star = train(scene).front().values;
    scene.config.strategy.collective = Route::ring;
    EXPECT_TRUE(at::equal(star, train(scene).front().values));
  }
}

// What the passes before it brought together is not sent again.
TEST(DataParallel, EveryPassSendsTheLargestOfItsOwnGradients) {
  Scene scene = replicas(ModelKind::variable, 1);
  scene.config.strategy.hook = HookKind::topk;
  scene.config.optim.momentum = 0;
  const auto changed = [&scene](std::int64_t passes) {
    scene.config.batch.accumulate = passes;
    scene.steps = 0;
    const at::Tensor start = train(scene).front().values;
    scene.steps = 1;
    return (train(scene).front().values != start).sum().item<std::int64_t>();
  };
  EXPECT_GT(changed(3), changed(1));
}

// Replica 0 is the module itself: its share decides the running statistics,
// as in PyTorch, and they survive the step.
TEST(DataParallel, RunningStatisticsAreThoseOfDeviceZero) {
  Scene scene = replicas(ModelKind::resnet18, 3);
  scene.steps = 1;
  const Ended parts = train(scene).front();
  scene.change_model = [](Model& model, int) {
    model.forward = [inner = model.forward](const at::Tensor& x) {
      // Two of six samples count, and there are six logits' worth of loss.
      return inner(x.narrow(0, 0, 2)).repeat({3, 1});
    };
  };
  EXPECT_LT(largest_difference(parts.buffers, one_rank(scene).buffers), 1e-6);
}

TEST(DataParallel, SendsExactlyWhatItPlanned) {
  for (const Route route : {Route::star, Route::ring}) {
    Scene scene = replicas(ModelKind::resnet18, 2);
    scene.steps = 1;
    scene.config.strategy.collective = route;
    scene.config.batch.accumulate = 2;
    for (const Ended& rank : train(scene)) {
      ASSERT_EQ(rank.messages.size(), rank.plan.size());
      for (std::size_t i = 0; i < rank.plan.size(); ++i) {
        EXPECT_EQ(rank.messages[i].bytes, rank.plan[i].bytes) << i;
        EXPECT_EQ(rank.messages[i].op, word(rank.plan[i].op)) << i;
        EXPECT_EQ(rank.messages[i].payload, word(rank.plan[i].payload)) << i;
        EXPECT_LE(rank.messages[i].begin_s, rank.messages[i].end_s);
      }
    }
  }
}

TEST(DataParallel, EachOfTheEightStepsIsTimed) {
  const auto ended = train(replicas(ModelKind::variable, 2));
  for (const StepSample& s : ended.front().steps) {
    double sum = 0;
    for (const double seconds : s.dp_s) {
      EXPECT_GT(seconds, 0);
      sum += seconds;
    }
    EXPECT_LE(sum, s.step_s);
    EXPECT_GT(s.forward_s, 0);
    EXPECT_GT(s.exposed_comm_s, 0);
  }
}

TEST(DataParallel, RanksOfSeveralProcessesAreRefused) {
  const Scene scene = replicas(ModelKind::variable, 2);
  const auto group =
      make_emulated_group(2, [](Collective, std::int64_t, int) { return 0.0; });
  try {
    testing::train_rank(scene, testing::batches_of(scene), *group);
    FAIL() << "it must not run";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    EXPECT_NE(std::string(e.what()).find("one process"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
