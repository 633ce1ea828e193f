// SPDX-License-Identifier: Apache-2.0
// Every way to train on several ranks ends where one rank with the whole batch
// ends: each model, 1 to 4 ranks, SGD with momentum and Adam.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/strategy/training.h"

namespace lockstep::testing {
namespace {

struct Trial {
  Way way;
  ModelKind model;
  OptimKind optim;
};

std::string name_of(const ::testing::TestParamInfo<Trial>& info) {
  RunConfig config;
  config.model.kind = info.param.model;
  config.optim.kind = info.param.optim;
  return std::string(info.param.way.name) + "_" + word(config, "model.kind") +
         "_" + word(config, "optim.kind");
}

std::vector<Trial> trials() {
  std::vector<Trial> out;
  for (const ModelKind model :
       {ModelKind::linear, ModelKind::conv1d, ModelKind::variable,
        ModelKind::resnet18, ModelKind::mobilenet_v2, ModelKind::vit_tiny,
        ModelKind::gpt})
    for (const OptimKind optim : {OptimKind::sgd, OptimKind::adam})
      for (const Way& way : kWays) out.push_back({way, model, optim});
  return out;
}

// BatchNorm takes its statistics from the samples of one pass, so there one
// rank's whole batch comes in as many passes as there are ranks. (Over all
// ranks' samples: sync_batchnorm_test.cpp.)
std::int64_t passes_alone(ModelKind model, int ranks) {
  return model == ModelKind::resnet18 || model == ModelKind::mobilenet_v2
             ? ranks
             : 1;
}

// The mean of the ranks' steps weighs ranks alike, not samples: local_sgd
// needs shares of one size.
std::int64_t batch_of(const Way& way, int ranks) {
  return way.kind == StrategyKind::local_sgd && ranks == 4 ? 4 : 6;
}

// Trained once, for all the ways that are compared with it.
const Ended& alone(const Trial& trial, std::int64_t passes,
                   std::int64_t batch) {
  using Key = std::tuple<ModelKind, OptimKind, std::int64_t, std::int64_t>;
  static std::map<Key, Ended> done;
  const Key key{trial.model, trial.optim, passes, batch};
  const auto found = done.find(key);
  if (found != done.end()) return found->second;
  Scene scene{
      .config = small_config(trial.model, StrategyKind::single, trial.optim),
      .batch = batch};
  scene.config.batch.accumulate = passes;
  return done.emplace(key, train(scene).front()).first->second;
}

class WholeBatch : public ::testing::TestWithParam<Trial> {
 protected:
  // One rank: the same bits. More: sums of fp32 in another order, some units
  // in the last place of a gradient, times a learning rate of 0.02 and twice.
  void compare(int ranks) {
    const Trial trial = GetParam();
    const std::int64_t batch = batch_of(trial.way, ranks);
    const Ended& whole = alone(trial, passes_alone(trial.model, ranks), batch);
    const std::vector<Ended> ended =
        train({.config = small_config(trial.model, trial.way, trial.optim),
               .ranks = ranks,
               .batch = batch});
    for (const Ended& rank : ended)
      EXPECT_TRUE(at::equal(rank.values, ended.front().values)) << ranks;
    EXPECT_LE(largest_difference(whole.values, ended.front().values),
              ranks == 1 ? 0 : 2e-6)
        << ranks;
  }
};

TEST_P(WholeBatch, IsWhereAllRanksEnd) {
  // The mean of steps of Adam is not Adam's step along the mean.
  const bool alone_only = GetParam().way.kind == StrategyKind::local_sgd &&
                          GetParam().optim == OptimKind::adam;
  for (int ranks = 1; ranks <= (alone_only ? 1 : 4); ++ranks) compare(ranks);
}

INSTANTIATE_TEST_SUITE_P(AllWays, WholeBatch, ::testing::ValuesIn(trials()),
                         name_of);

}  // namespace
}  // namespace lockstep::testing
