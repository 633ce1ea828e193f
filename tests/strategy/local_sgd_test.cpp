// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "lockstep/core/error.h"
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

// The definition: replicas that train alone, and a mean after some steps.
at::Tensor by_definition(const Scene& scene) {
  std::vector<std::unique_ptr<Alone>> replicas;
  for (int r = 0; r < scene.ranks; ++r)
    replicas.push_back(std::make_unique<Alone>(scene));
  const std::vector<Batch> batches = testing::batches_of(scene);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (int r = 0; r < scene.ranks; ++r)
      step_alone(*replicas[static_cast<std::size_t>(r)],
                 testing::share(batches[i], scene.ranks, r, 1));
    if ((i + 1) % 3 != 0 && i + 1 != batches.size()) continue;
    at::Tensor mean = replicas[0]->params.values() / scene.ranks;
    for (std::size_t r = 1; r < replicas.size(); ++r)
      mean = mean + replicas[r]->params.values() / scene.ranks;
    const at::NoGradGuard no_grad;
    for (auto& replica : replicas) replica->params.values().copy_(mean);
  }
  return replicas[0]->params.values();
}

TEST(LocalSgd, IsTrainingAloneWithAMeanNowAndThenToTheBit) {
  for (const OptimKind optim : {OptimKind::sgd, OptimKind::adam}) {
    const Scene scene = every_third_step(ModelKind::variable, optim);
    const at::Tensor expected = by_definition(scene);
    for (const Ended& rank : train(scene))
      EXPECT_TRUE(at::equal(rank.values, expected));
  }
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
