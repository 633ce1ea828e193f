// SPDX-License-Identifier: Apache-2.0
// Every way to train on several ranks ends where one rank with the whole batch
// ends: each model, 1 to 4 ranks, SGD with momentum and Adam.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/strategy/training.h"

namespace lockstep::testing {
namespace {

struct Trial {
  Way way;
  ModelKind model;
  OptimKind optim;
};

std::string trial_name(const ::testing::TestParamInfo<Trial>& info) {
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

// BatchNorm takes its statistics from the samples of one pass: of several ranks
// none has the whole batch's. (Over all ranks': sync_batchnorm_test.cpp.)
bool has_batch_norm(ModelKind model) {
  return model == ModelKind::resnet18 || model == ModelKind::mobilenet_v2;
}

// The mean of the ranks' steps weighs ranks alike, not samples: local_sgd
// needs shares of one size. Its means are rounded anew each step, which
// BatchNorms over two samples amplify: one step there.
struct Length {
  std::int64_t steps = 2, batch = 6;
  auto operator<=>(const Length&) const = default;
};
Length length_of(const Trial& trial, int ranks) {
  if (trial.way.kind != StrategyKind::local_sgd) return {};
  return {.steps = has_batch_norm(trial.model) ? 1 : 2,
          .batch = ranks == 4 ? 4 : 6};
}

// Ranks' gradients are added in rank order, and nothing else is rounded.
bool adds_in_rank_order(const Way& way) {
  return way.kind == StrategyKind::ddp || way.kind == StrategyKind::sharded;
}

// Trained once for all the ways that are compared with it; those of another
// model or optimiser are not kept.
const Ended& alone(const Trial& trial, std::int64_t passes, Length length) {
  static std::pair<ModelKind, OptimKind> kept;
  static std::map<std::pair<std::int64_t, Length>, Ended> done;
  const std::pair wanted(trial.model, trial.optim);
  if (std::exchange(kept, wanted) != wanted) done.clear();
  const auto found = done.find({passes, length});
  if (found != done.end()) return found->second;
  Scene scene{
      .config = small_config(trial.model, StrategyKind::single, trial.optim),
      .steps = length.steps,
      .batch = length.batch};
  scene.config.batch.accumulate = passes;
  return done[{passes, length}] = train(scene).front();
}

class WholeBatch : public ::testing::TestWithParam<Trial> {
 protected:
  void compare(int ranks) {
    const Trial trial = GetParam();
    const Length length = length_of(trial, ranks);
    const std::vector<Ended> ended =
        train({.config = small_config(trial.model, trial.way, trial.optim),
               .ranks = ranks,
               .steps = length.steps,
               .batch = length.batch});
    const at::Tensor& values = ended.front().values;
    for (const Ended& rank : ended)
      EXPECT_TRUE(at::equal(rank.values, values)) << ranks;
    // One rank that takes the ranks' shares one after the other.
    const bool to_the_bit = ranks == 1 || adds_in_rank_order(trial.way);
    EXPECT_LE(largest_difference(alone(trial, ranks, length).values, values),
              to_the_bit ? 0 : kOrderOfSums)
        << ranks;
    // One rank that takes them at once.
    if (ranks == 1 || has_batch_norm(trial.model)) return;
    EXPECT_LE(largest_difference(alone(trial, 1, length).values, values),
              kOrderOfSums)
        << ranks;
  }
};

TEST_P(WholeBatch, IsWhereAllRanksEnd) {
  // The mean of steps of Adam is not Adam's step along the mean.
  const bool alone_only = GetParam().way.kind == StrategyKind::local_sgd &&
                          GetParam().optim == OptimKind::adam;
  for (int ranks = 1; ranks <= (alone_only ? 1 : 4); ++ranks) compare(ranks);
}

INSTANTIATE_TEST_SUITE_P(EachWay, WholeBatch, ::testing::ValuesIn(trials()),
                         trial_name);

}  // namespace
}  // namespace lockstep::testing
