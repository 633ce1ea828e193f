// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/report/advice_line.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

RunConfig recipe(std::int64_t batch = 64) {
  RunConfig out;
  out.model.kind = ModelKind::linear;
  out.data.kind = DataKind::synthetic;
  out.data.synthetic_samples = 6400;
  out.batch.global = batch;
  out.train.epochs = 2;
  out.optim.lr = 0.1;
  return out;
}

// One layer of 4 MB of gradients; a sample takes `a_sample_s`.
Profile profile(double a_sample_s) {
  Profile p;
  p.model = "linear", p.device = "a core", p.software = "made";
  p.batches = {16, 64};
  p.layers.resize(1);
  p.layers[0].name = "fc", p.layers[0].type = "Linear";
  for (const double batch : {16.0, 64.0}) {
    p.layers[0].forward_s.push_back(batch * a_sample_s / 3);
    p.layers[0].backward_s.push_back(batch * a_sample_s * 2 / 3);
    p.step_s.push_back(batch * a_sample_s);
  }
  p.params = {{.name = "fc.weight", .numel = 1'000'000, .layer = 0}};
  p.gradient_order = {0};
  p.input_bytes = p.output_bytes = 4;
  return p;
}

Cluster machine(int ranks, double bytes_per_s) {
  Cluster out;
  out.name = "this machine", out.device.name = "a core";
  out.device.memory_bytes_per_s = 1e10;
  out.devices_per_node = ranks;
  if (ranks == 1) return out;
  Link link;
  link.name = "memory", link.kind = LinkKind::memory, link.hop = Hop::memory;
  link.latency_s = 1e-6;
  link.curves = {
      {.ranks = 2, .points = {{1e3, 1e-6}, {1e8, 1e8 / bytes_per_s}}}};
  out.inside = link;
  return out;
}

// Two ranks with a core each: a sample takes a rank twice as long as one rank
// with both cores, `slow` times more where they hinder each other.
std::vector<MeasuredRanks> measured(double slow, double bytes_per_s) {
  return {{profile(1e-3), machine(1, 0)},
          {profile(1.4e-3 * slow), machine(2, bytes_per_s)}};
}

TEST(Adopt, TakesTheRanksThatAreMeasuredFaster) {
  const Advice two = advise_measured(measured(1, 10e9), recipe(), 0);
  EXPECT_EQ(two.choice.prediction.question.ranks, 2);
  const Advice one = advise_measured(measured(2, 10e9), recipe(), 0);
  EXPECT_EQ(one.choice.prediction.question.ranks, 1)
      << "ranks that hinder each other do not pay";
  const Advice slow = advise_measured(measured(1, 1e7), recipe(), 0);
  EXPECT_EQ(slow.choice.prediction.question.ranks, 1)
      << "nor does a link that takes longer than the step";
}

TEST(Adopt, TimeIsThatOfTheRecipesEpochs) {
  const Advice a = advise_measured(measured(1, 10e9), recipe(), 0);
  EXPECT_NEAR(a.choice.time_s, 200 * a.choice.prediction.time.step_s, 1e-9);
  EXPECT_EQ(a.choice.lr, 0.1);
}

TEST(Adopt, ChangesRanksStrategyBatchAndRateAndNothingElse) {
  Advice a = advise_measured(measured(1, 10e9), recipe(), 1000);
  const std::int64_t batch = a.choice.prediction.question.global_batch();
  RunConfig config = adopt(recipe(), a.choice);
  EXPECT_EQ(config.comm.ranks, 2);
  EXPECT_NE(config.strategy.kind, StrategyKind::single);
  EXPECT_EQ(config.batch.global, batch);
  EXPECT_EQ(config.optim.lr, a.choice.lr);
  validate(config);
  const RunConfig base = recipe();
  config.comm = base.comm, config.strategy = base.strategy;
  config.batch = base.batch, config.optim.lr = base.optim.lr;
  EXPECT_EQ(to_json(config), to_json(base));
}

TEST(Adopt, AHookGoesWithEveryChoiceThatSends) {
  RunConfig hooked = recipe();
  hooked.strategy.hook = HookKind::bf16;
  const Advice a = advise_measured(measured(1, 10e9), hooked, 0);
  EXPECT_EQ(a.ranking.size(), 3u) << "one rank, ddp and sharded on two";
  for (const Choice& c : a.ranking) {
    const RunConfig config = adopt(hooked, c);
    EXPECT_NO_THROW(validate(config));
    EXPECT_EQ(config.strategy.hook,
              config.comm.ranks == 1 ? HookKind::none : HookKind::bf16);
  }
}

TEST(Adopt, ABatchThatDoesNotDivideIsNotWeighed) {
  const Advice a = advise_measured(measured(1, 10e9), recipe(63), 0);
  EXPECT_EQ(a.ranking.size(), 1u);
  EXPECT_EQ(a.choice.prediction.question.ranks, 1);
}

TEST(Adopt, TheRecordSaysHowFarItWasOff) {
  const Advice a = advise_measured(measured(1, 10e9), recipe(), 0);
  RunRecord record;
  EXPECT_EQ(advice_line(record), "");
  record.advice = advice_json(a);
  EXPECT_THAT(advice_line(record), HasSubstr("none measured"));
  record.summary["median_step_s"] = a.choice.prediction.time.step_s * 1.02;
  EXPECT_THAT(advice_line(record),
              HasSubstr("2.00 % more than predicted, inside the interval"));
  record.summary["median_step_s"] = a.choice.prediction.time.step_s * 0.25;
  EXPECT_THAT(advice_line(record),
              HasSubstr("75.0 % less than predicted, outside the interval"));
}

}  // namespace
}  // namespace lockstep
