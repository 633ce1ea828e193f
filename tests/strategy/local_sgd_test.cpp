// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "lockstep/core/error.h"
#include "lockstep/plan/hook_plan.h"
#include "tests/strategy/training.h"

namespace lockstep {
namespace {

using testing::Ended;
using testing::Scene;
using testing::small_config;
using testing::train;

Scene every_third_step(ModelKind model, OptimKind optim) {
  Scene scene{.config = small_config(model, StrategyKind::local_sgd, optim),
              .ranks = 3,
              .steps = 7,
              .batch = 7};
  scene.config.strategy.local_steps = 3;
  return scene;
}

// One replica that trains alone.
struct Alone {
  explicit Alone(const Scene& scene)
      : config(scene.config), model(testing::draw_model(scene, 0)) {
    config.strategy.kind = StrategyKind::single;
  }

  RunConfig config;
  Model model;
  std::unique_ptr<Device> device = open_device("cpu");
  FlatParams params{*model.module};
  Optimizer optimizer{config.optim, params, *device};
  Recorder recorder{0, device->time_source(), {.record = false}};
};

void step_alone(Alone& alone, const std::vector<Batch>& passes) {
  run_ranks(1, {.threads = 1}, [&](Group& group) {
    const auto single = make_strategy({alone.config, alone.model, alone.params,
                                       *alone.device, group, alone.recorder});
    single->step({.passes = passes,
                  .global_samples = passes.front().samples,
                  .lr = alone.config.optim.lr},
                 alone.optimizer);
  });
}

// The mean of the replicas' parameters.
at::Tensor plain_mean(const std::vector<std::unique_ptr<Alone>>& replicas) {
  const auto ranks = static_cast<double>(replicas.size());
  at::Tensor mean = replicas[0]->params.values() / ranks;
  for (std::size_t r = 1; r < replicas.size(); ++r)
    mean = mean + replicas[r]->params.values() / ranks;
  return mean;
}

// What top-k gives in its place: each sends the largest of its changes and of
// what it kept back, and keeps the rest. One bucket.
struct TopKMean {
  explicit TopKMean(const Scene& scene) : config(scene.config.strategy) {}

  at::Tensor operator()(const std::vector<std::unique_ptr<Alone>>& replicas) {
    if (!anchor.defined()) return anchor = replicas[0]->params.values().clone();
    at::Tensor sum = at::zeros_like(anchor);
    kept.resize(replicas.size(), at::zeros_like(anchor));
    for (std::size_t r = 0; r < replicas.size(); ++r) {
      const at::Tensor whole =
          kept[r] + (replicas[r]->params.values() - anchor) /
                        static_cast<double>(replicas.size());
      const at::Tensor chosen =
          whole.abs()
              .argsort(0, /*descending=*/true)
              .slice(0, 0, topk_count(config, whole.numel()));
      const at::Tensor sent = at::zeros_like(whole).index_copy_(
          0, chosen, whole.index_select(0, chosen));
      kept[r] = whole - sent;
      sum += sent;
    }
    return anchor = anchor + sum;
  }

  StrategyConfig config;
  at::Tensor anchor;
  std::vector<at::Tensor> kept;
};

using Mean = std::function<at::Tensor(
    const std::vector<std::unique_ptr<Alone>>& replicas)>;

// The definition: replicas that train alone, and a mean after some steps.
at::Tensor by_definition(const Scene& scene, const Mean& mean_of) {
  std::vector<std::unique_ptr<Alone>> replicas;
  for (int r = 0; r < scene.ranks; ++r)
    replicas.push_back(std::make_unique<Alone>(scene));
  if (scene.config.strategy.hook != HookKind::none) mean_of(replicas);
  const std::vector<Batch> batches = testing::batches_of(scene);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (int r = 0; r < scene.ranks; ++r)
      step_alone(*replicas[static_cast<std::size_t>(r)],
                 testing::share(batches[i], scene.ranks, r, 1));
    if ((i + 1) % 3 != 0 && i + 1 != batches.size()) continue;
    const at::NoGradGuard no_grad;
    const at::Tensor mean = mean_of(replicas);
    for (auto& replica : replicas) replica->params.values().copy_(mean);
  }
  return replicas[0]->params.values();
}

TEST(LocalSgd, IsTrainingAloneWithAMeanNowAndThenToTheBit) {
  for (const OptimKind optim : {OptimKind::sgd, OptimKind::adam}) {
    const Scene scene = every_third_step(ModelKind::variable, optim);
    const at::Tensor expected = by_definition(scene, plain_mean);
    for (const Ended& rank : train(scene))
      EXPECT_TRUE(at::equal(rank.values, expected));
  }
}

TEST(LocalSgd, TopKAveragesTheLargestChangesAndKeepsTheRestToTheBit) {
  for (const OptimKind optim : {OptimKind::sgd, OptimKind::adam}) {
    Scene scene = every_third_step(ModelKind::variable, optim);
    scene.config.strategy.hook = HookKind::topk;
    scene.config.strategy.topk_share = 0.05;
    scene.config.strategy.first_bucket_bytes = 1 << 30;
    const at::Tensor expected = by_definition(scene, TopKMean(scene));
    for (const Ended& rank : train(scene))
      EXPECT_TRUE(at::equal(rank.values, expected));
  }
}

// Where every rank stands after some steps, and what it would save.
struct Standing {
  at::Tensor values, start;
  StrategyState state;

  at::Tensor saved(const std::string& name) const {
    for (const auto& [key, tensor] : state.tensors)
      if (key == name) return tensor;
    ADD_FAILURE() << name;
    return {};
  }
};

Standing stand(const Scene& scene, std::size_t steps,
               const StrategyState* from = nullptr) {
  Standing out;
  const std::vector<Batch> batches = testing::batches_of(scene);
  run_ranks(scene.ranks, {.deadline_s = 20, .threads = 1}, [&](Group& group) {
    testing::Trainee rank(scene, group);
    if (from) rank.strategy->load(*from);
    rank.strategy->start();
    const at::Tensor start = rank.params.values().clone();
    for (std::size_t i = 0; i < steps; ++i)
      rank.step(static_cast<std::int64_t>(i), batches[i]);
    const StrategyState state = rank.strategy->save();
    if (group.rank() != 0) return;
    out.values = rank.params.values().clone(), out.start = start;
    for (const auto& [name, tensor] : state.tensors)
      out.state.tensors.emplace_back(name, tensor.clone());
  });
  return out;
}

// At a small rate gradients hardly depend on what was applied: the way that was
// gone and what is kept back make the way without a hook, also when ranks part
// after steps of ddp, whose hook kept something back too.
TEST(LocalSgd, WhatAHookKeptBackIsLateNotLost) {
  for (const HookKind hook : {HookKind::topk, HookKind::powersgd})
    for (const std::int64_t local_start : {0, 3}) {
      Scene scene = every_third_step(ModelKind::variable, OptimKind::sgd);
      scene.config.optim.momentum = 0, scene.config.optim.lr = 1e-4;
      scene.config.strategy.local_start = local_start;
      scene.batch = 6;
      const Standing plain = stand(scene, 7);
      scene.config.strategy.hook = hook;
      scene.config.strategy.topk_share = 0.05;
      const Standing hooked = stand(scene, 7);
      const at::Tensor way = plain.values - plain.start;
      const at::Tensor gone = hooked.values - hooked.start;
      const at::Tensor kept = hooked.saved("changes.error").sum(0);
      const double scale = way.norm().item<double>();
      EXPECT_GT((gone - way).norm().item<double>(), 0.05 * scale);
      EXPECT_LT((gone + kept - way).norm().item<double>(), 0.02 * scale)
          << local_start;
    }
}

TEST(LocalSgd, AnotherNumberOfRanksLosesNothingOfWhatIsUnderWay) {
  Scene scene = every_third_step(ModelKind::variable, OptimKind::sgd);
  scene.config.strategy.hook = HookKind::topk;
  scene.config.strategy.local_start = 1;
  // They average after the fourth step; the fifth is each rank's own.
  const Standing three = stand(scene, 5);
  scene.ranks = 2;
  const Standing two = stand(scene, 0, &three.state);
  const auto near = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>() < 1e-6;
  };
  EXPECT_GT(three.saved("changes.error").norm().item<double>(), 0);
  EXPECT_TRUE(near(two.saved("changes.error").sum(0),
                   three.saved("changes.error").sum(0)));
  EXPECT_TRUE(near(two.saved("values").mean(0), three.saved("values").mean(0)));
  EXPECT_TRUE(
      at::equal(two.saved("changes.anchor"), three.saved("changes.anchor")));
}

TEST(LocalSgd, SendsInTheStepsThatAverageAndThenWhatItPlanned) {
  const Scene scene = every_third_step(ModelKind::resnet18, OptimKind::sgd);
  const Ended rank = train(scene).front();
  std::set<std::int64_t> steps;
  for (const CommSample& m : rank.messages) steps.insert(m.step);
  EXPECT_EQ(steps, (std::set<std::int64_t>{2, 5, 6}));
  ASSERT_EQ(rank.messages.size(), 3 * rank.plan.size());
  for (std::size_t i = 0; i < rank.messages.size(); ++i) {
    const Message& planned = rank.plan[i % rank.plan.size()];
    EXPECT_EQ(rank.messages[i].op, word(planned.op));
    EXPECT_EQ(rank.messages[i].payload, word(planned.payload));
    EXPECT_EQ(rank.messages[i].bytes, planned.bytes);
  }
}

TEST(LocalSgd, AveragesRunningStatisticsToo) {
  const std::vector<Ended> ended =
      train(every_third_step(ModelKind::resnet18, OptimKind::sgd));
  EXPECT_TRUE(at::equal(ended[0].buffers, ended[1].buffers));
  EXPECT_TRUE(at::equal(ended[0].values, ended[2].values));
}

TEST(LocalSgd, StepsBeforeLocalStartAreDdps) {
  Scene scene = every_third_step(ModelKind::resnet18, OptimKind::adam);
  scene.steps = 2;
  scene.config.strategy.local_start = 2;
  const std::vector<Ended> post_local = train(scene);
  scene.config.strategy.kind = StrategyKind::ddp;
  const std::vector<Ended> ddp = train(scene);
  EXPECT_TRUE(at::equal(post_local[1].values, ddp[1].values));
  EXPECT_EQ(post_local[1].messages.size(), ddp[1].messages.size());
}

}  // namespace
}  // namespace lockstep
