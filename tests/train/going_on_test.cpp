// SPDX-License-Identifier: Apache-2.0
// A training that goes on from its checkpoint (state_of(), the one list of what
// a checkpoint holds) ends with the same bits: every strategy with every hook
// and every optimiser, or the settings refuse the combination.
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <atomic>

#include "lockstep/core/error.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/session.h"
#include "tests/store/temp_dir.h"
#include "tests/strategy/training.h"

namespace lockstep::testing {
namespace {

struct Combination {
  const char* strategy;
  StrategyConfig config;
  HookKind hook;
  OptimKind optim;
};

RunConfig config_of(const Combination& c) {
  RunConfig config = small_config(ModelKind::variable, c.config.kind, c.optim);
  config.strategy.collective = c.config.collective;
  config.strategy.local_steps = c.config.local_steps;
  config.strategy.local_start = c.config.local_start;
  config.strategy.hook = c.hook;
  config.strategy.topk_share = 0.05;
  config.batch.global = 6;
  config.comm.ranks = c.config.kind == StrategyKind::single ? 1 : 2;
  config.optim.weight_decay = 0.01;
  config.optim.momentum = keeps_square(c.optim) ? 0 : 0.9;
  return config;
}

std::string name_of(const ::testing::TestParamInfo<Combination>& info) {
  const RunConfig config = config_of(info.param);
  return std::string(info.param.strategy) + "_" +
         word(config, "strategy.hook") + "_" + word(config, "optim.kind");
}

std::vector<Combination> combinations() {
  const std::pair<const char*, StrategyConfig> strategies[] = {
      {"single", {.kind = StrategyKind::single}},
      {"data_parallel_star", {.kind = StrategyKind::data_parallel}},
      {"data_parallel_ring",
       {.kind = StrategyKind::data_parallel, .collective = Route::ring}},
      {"ddp", {.kind = StrategyKind::ddp}},
      {"sharded", {.kind = StrategyKind::sharded}},
      // The checkpoint falls between two averages, when ranks differ.
      {"local_sgd", {.kind = StrategyKind::local_sgd, .local_steps = 3}},
      {"post_local_sgd",
       {.kind = StrategyKind::local_sgd, .local_steps = 3, .local_start = 1}}};
  std::vector<Combination> out;
  for (const auto& [name, config] : strategies)
    for (const HookKind hook : {HookKind::none, HookKind::bf16, HookKind::fp16,
                                HookKind::topk, HookKind::powersgd})
      for (const OptimKind optim :
           {OptimKind::sgd, OptimKind::adam, OptimKind::adamw, OptimKind::lars,
            OptimKind::lamb})
        out.push_back({name, config, hook, optim});
  return out;
}

// Hooks make messages smaller; lars and lamb measure whole tensors.
bool is_refused(const Combination& c) {
  const StrategyKind kind = c.config.kind;
  return (c.hook != HookKind::none && kind == StrategyKind::single) ||
         (is_layerwise(c.optim) && kind == StrategyKind::sharded);
}

constexpr std::int64_t kCut = 2, kSteps = 5;

// A BatchNorm on the logits: running statistics must survive too.
Scene scene_of(const Combination& c) {
  Scene scene{.config = config_of(c),
              .ranks = static_cast<int>(config_of(c).comm.ranks),
              .steps = kSteps};
  scene.change_model = [](Model& model, int) {
    torch::nn::BatchNorm1d norm(10);
    model.module->register_module("norm", norm);
    model.forward = [norm, inner = model.forward](const at::Tensor& x) mutable {
      return norm(inner(x));
    };
  };
  return scene;
}

// What the trainer saves and loads, without its data.
struct Going {
  explicit Going(Trainee& t)
      : trainee(t),
        session{t.scene.config,
                *t.device,
                t.group,
                t.model,
                t.params,
                t.optimizer,
                *t.strategy,
                t.recorder,
                data,
                resident,
                nullptr,
                stop,
                first_batch(t.scene.config)} {}

  void train(const std::vector<Batch>& batches, std::int64_t until) {
    for (; session.at.step < until; ++session.at.step)
      trainee.step(session.at.step,
                   batches[static_cast<std::size_t>(session.at.step)]);
  }

  // As trainer.cpp and restore.cpp do.
  void save(const std::filesystem::path& folder) {
    trainee.strategy->sync();
    const StrategyState state = trainee.strategy->save();
    if (trainee.group.rank() == 0)
      save_checkpoint({.folder = folder,
                       .step = session.at.step,
                       .identity = identity_of(session.config)},
                      *trainee.model.module, state_of(session, state));
    trainee.group.run({.op = Collective::barrier});
  }
  void load(const std::filesystem::path& folder) {
    load_checkpoint(folder, identity_of(session.config), *trainee.model.module,
                    state_of(session, {}));
  }

  // All there is. Replicas of data_parallel have no optimiser that counts.
  at::Tensor bits() {
    trainee.strategy->sync();
    std::vector<at::Tensor> out{trainee.params.values().clone(),
                                buffers_of(*trainee.model.module)};
    if (trainee.group.rank() == 0 ||
        session.config.strategy.kind != StrategyKind::data_parallel)
      for (const auto& [name, tensor] : trainee.optimizer.state())
        out.push_back(tensor.flatten());
    return at::cat(out);
  }

  Trainee& trainee;
  const std::atomic<int> stop = 0;
  const DataSplit data = {};
  ResidentSets resident = {};
  Session session;
};

class GoingOn : public ::testing::TestWithParam<Combination> {};

TEST_P(GoingOn, EndsWithTheSameBitsOrIsRefused) {
  const Scene scene = scene_of(GetParam());
  if (is_refused(GetParam())) {
    EXPECT_THROW(validate(scene.config), Error);
    return;
  }
  EXPECT_NO_THROW(validate(scene.config));
  const std::vector<Batch> batches = batches_of(scene);
  const TempDir folder;
  run_ranks(scene.ranks, {.deadline_s = 20, .threads = 1}, [&](Group& group) {
    Trainee unbroken(scene, group);
    Going going(unbroken);
    unbroken.strategy->start();
    going.train(batches, kCut);
    going.save(folder.path);
    going.train(batches, kSteps);

    Trainee fresh(scene, group);
    Going again(fresh);
    EXPECT_FALSE(at::equal(fresh.params.values(), unbroken.params.values()));
    again.load(folder.path);
    EXPECT_EQ(again.session.at.step, kCut);
    fresh.strategy->start();
    again.train(batches, kSteps);
    EXPECT_TRUE(at::equal(again.bits(), going.bits())) << group.rank();
  });
}

INSTANTIATE_TEST_SUITE_P(Everything, GoingOn,
                         ::testing::ValuesIn(combinations()), name_of);

}  // namespace
}  // namespace lockstep::testing
