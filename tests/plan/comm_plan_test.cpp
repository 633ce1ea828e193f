// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/comm_plan.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 12000 -> 1000 -> 100 -> 10 -> 10, weight before bias: 12,102,220 parameters.
const ParamList kLinear{
    .numel = {12'000'000, 1000, 100'000, 100, 1000, 10, 100, 10}};
constexpr std::int64_t kLinearBytes = 48'408'880;

std::vector<std::int64_t> bytes_in(const CommPlan& messages) {
  std::vector<std::int64_t> out;
  for (const Message& m : messages) out.push_back(m.bytes);
  return out;
}

std::vector<std::string> ops_in(const CommPlan& messages) {
  std::vector<std::string> out;
  for (const Message& m : messages)
    out.push_back(std::string(word(m.op)) + " " + std::string(word(m.payload)));
  return out;
}

TEST(CommPlan, SingleSendsNothing) {
  EXPECT_THAT(plan({.kind = StrategyKind::single}, kLinear, {.ranks = 1}),
              IsEmpty());
}

TEST(CommPlan, DdpSendsExactlyTheGradientsOfTheLinearModel) {
  const CommPlan p = plan({.kind = StrategyKind::ddp}, kLinear, {.ranks = 2});
  EXPECT_EQ(bytes_of(p), kLinearBytes);
  // The small layers stay below 1 MiB together, so the large one joins them.
  ASSERT_EQ(p.size(), 1U);
  EXPECT_THAT(p[0].params, ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_EQ(p[0].phase, Phase::backward);
}

TEST(CommPlan, ABucketClosesWhenItReachesItsLimit) {
  const StrategyConfig config{.kind = StrategyKind::ddp,
                              .first_bucket_bytes = 400'000,
                              .bucket_bytes = 4000};
  // 40 + 400 + 40 + 4000 + 400 + 400,000 passes 400,000; 4000 reaches 4000.
  EXPECT_THAT(bytes_in(plan(config, kLinear, {.ranks = 2})),
              ElementsAre(404'880, 4000, 48'000'000));
}

TEST(CommPlan, AccumulationSendsGradientsInTheLastPassOnly) {
  const CommPlan p = plan({.kind = StrategyKind::ddp}, kLinear,
                          {.ranks = 2, .samples = 64, .accumulate = 4});
  EXPECT_EQ(bytes_of(p), kLinearBytes);
  for (const Message& m : p) EXPECT_EQ(m.pass, 3);
}

TEST(CommPlan, RunningStatisticsAreBroadcastBeforeForward) {
  const CommPlan p = plan({.kind = StrategyKind::ddp},
                          {.numel = {10}, .buffer_bytes = 80}, {.ranks = 2});
  ASSERT_THAT(ops_in(p),
              ElementsAre("broadcast buffers", "all_reduce gradients"));
  EXPECT_EQ(p[0].bytes, 80);
  EXPECT_EQ(p[0].phase, Phase::before_forward);
}

TEST(CommPlan, ShardedScattersGradientsAndGathersParameters) {
  const StrategyConfig config{.kind = StrategyKind::sharded,
                              .first_bucket_bytes = 400'000,
                              .bucket_bytes = 4000};
  const CommPlan p = plan(config, kLinear, {.ranks = 4});
  EXPECT_THAT(
      ops_in(p),
      ElementsAre("reduce_scatter gradients", "reduce_scatter gradients",
                  "reduce_scatter gradients", "all_gather parameters",
                  "all_gather parameters", "all_gather parameters"));
  EXPECT_EQ(bytes_of(p), 2 * kLinearBytes);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(p[i].params, p[i + 3].params);
    EXPECT_EQ(p[i + 3].phase, Phase::after_update);
  }
}

TEST(CommPlan, DataParallelSendsTheMessagesOfTheEightSteps) {
  const CommPlan p = plan(
      {.kind = StrategyKind::data_parallel}, kLinear,
      {.ranks = 4, .samples = 10, .input_bytes = 48'000, .output_bytes = 40});
  EXPECT_THAT(ops_in(p), ElementsAre("scatter inputs", "broadcast parameters",
                                     "gather outputs", "scatter outputs",
                                     "reduce gradients"));
  EXPECT_THAT(bytes_in(p),
              ElementsAre(480'000, kLinearBytes, 400, 400, kLinearBytes));
  EXPECT_EQ(p[2].phase, Phase::after_forward);
  EXPECT_EQ(p[4].phase, Phase::after_backward);
}

TEST(CommPlan, DataParallelRepeatsItsMessagesInEveryPassWithItsOwnSamples) {
  const CommPlan p = plan(
      {.kind = StrategyKind::data_parallel, .collective = Route::ring},
      {.numel = {5}, .buffer_bytes = 8},
      {.samples = 7, .accumulate = 2, .input_bytes = 100, .output_bytes = 10});
  EXPECT_THAT(bytes_in(p),
              ElementsAre(400, 8, 20, 40, 40, 20, 300, 8, 20, 30, 30, 20));
  EXPECT_EQ(p[0].route, Route::star);  // shares go straight to their replica
  EXPECT_EQ(p[1].route, Route::ring);
  EXPECT_EQ(p[11].pass, 1);
}

TEST(CommPlan, LocalSgdAveragesEveryHStepsAndAtTheEnd) {
  const StrategyConfig config{.kind = StrategyKind::local_sgd,
                              .local_steps = 3};
  const ParamList params{.numel = {10, 6}, .buffer_bytes = 8};
  std::vector<std::int64_t> sent;
  for (std::int64_t step = 0; step < 8; ++step)
    sent.push_back(
        bytes_of(plan(config, params, {.step = step, .last = step == 7})));
  EXPECT_THAT(sent, ElementsAre(0, 0, 72, 0, 0, 72, 0, 72));
  EXPECT_THAT(ops_in(plan(config, params, {.step = 2})),
              ElementsAre("all_reduce parameters", "all_reduce buffers"));
}

TEST(CommPlan, PostLocalSgdSharesGradientsUntilItsStart) {
  const StrategyConfig config{
      .kind = StrategyKind::local_sgd, .local_steps = 2, .local_start = 2};
  const ParamList params{.numel = {10}};
  std::vector<std::string> sent;
  for (std::int64_t step = 0; step < 6; ++step)
    for (const std::string& op : ops_in(plan(config, params, {.step = step})))
      sent.push_back(std::to_string(step) + " " + op);
  EXPECT_THAT(
      sent, ElementsAre("0 all_reduce gradients", "1 all_reduce gradients",
                        "3 all_reduce parameters", "5 all_reduce parameters"));
}

TEST(CommPlan, SixteenBitHooksHalveEveryBucket) {
  for (const HookKind hook : {HookKind::bf16, HookKind::fp16}) {
    const CommPlan p =
        plan({.kind = StrategyKind::ddp, .first_bucket_bytes = 1, .hook = hook},
             kLinear, {.ranks = 2});
    EXPECT_EQ(bytes_of(p), kLinearBytes / 2);
    for (const Message& m : p) EXPECT_EQ(bytes_of(m.type), 2);
  }
}

TEST(CommPlan, TopKSendsEightBytesForEachChosenGradientOfEachRank) {
  const CommPlan p = plan(
      {.kind = StrategyKind::ddp, .hook = HookKind::topk, .topk_share = 0.01},
      {.numel = {990, 10}}, {.ranks = 4});
  ASSERT_THAT(ops_in(p), ElementsAre("all_gather gradients"));
  EXPECT_EQ(p[0].bytes, 4 * 10 * 8);
}

// Factors of rank 2: 1000 x 100 becomes 2000 + 200 numbers; the bias and the
// 4 x 4 matrix, which two factors of 4 x 2 would not make smaller,
// travel as they are.
TEST(CommPlan, PowerSgdSendsFactorsInTwoRoundsAndSmallParametersWhole) {
  const StrategyConfig config{.kind = StrategyKind::ddp,
                              .first_bucket_bytes = 1,
                              .bucket_bytes = 1'000'000,
                              .hook = HookKind::powersgd,
                              .powersgd_rank = 2};
  const ParamList params{.numel = {100'000, 1000, 16, 7},
                         .rows = {1000, 1, 4, 1}};
  const CommPlan p = plan(config, params, {.ranks = 2});
  EXPECT_THAT(bytes_in(p), ElementsAre(7 * 4, (16 + 1000 + 2000) * 4, 200 * 4));
  EXPECT_EQ(p[1].phase, Phase::backward);
  EXPECT_EQ(p[2].phase, Phase::after_backward);
}

// Two buckets: {16 x 8 and its bias} and {100 x 20}, last first.
const ParamList kTwoLayers{
    .numel = {2000, 128, 16}, .rows = {100, 16, 1}, .buffer_bytes = 8};

StrategyConfig hooked(StrategyKind kind, HookKind hook) {
  return {.kind = kind,
          .first_bucket_bytes = 4 * 100,
          .collective = Route::tree,
          .hook = hook,
          .topk_share = 0.25,
          .powersgd_rank = 2};
}

CommPlan hooked_plan(StrategyKind kind, HookKind hook) {
  return plan(hooked(kind, hook), kTwoLayers, {.ranks = 3, .last = true});
}

// An all-reduce of half the bytes would save nothing.
TEST(CommPlan, ShardedScattersACastAndSumsTheRestEverywhere) {
  const CommPlan cast = hooked_plan(StrategyKind::sharded, HookKind::bf16);
  EXPECT_THAT(ops_in(cast),
              ElementsAre("broadcast buffers", "reduce_scatter gradients",
                          "reduce_scatter gradients", "all_gather parameters",
                          "all_gather parameters"));
  EXPECT_THAT(bytes_in(cast),
              ElementsAre(8, 2 * 144, 2 * 2000, 4 * 144, 4 * 2000));
  EXPECT_EQ(cast[1].type, WireType::bf16);
  EXPECT_EQ(cast[1].phase, Phase::backward);
  EXPECT_EQ(cast[3].type, WireType::fp32);
  const CommPlan topk = hooked_plan(StrategyKind::sharded, HookKind::topk);
  EXPECT_THAT(ops_in(topk),
              ElementsAre("broadcast buffers", "all_gather gradients",
                          "all_gather gradients", "all_gather parameters",
                          "all_gather parameters"));
  EXPECT_EQ(topk[1].bytes, 3 * 8 * 36);
  const CommPlan factors =
      hooked_plan(StrategyKind::sharded, HookKind::powersgd);
  EXPECT_THAT(bytes_in(factors),
              ElementsAre(8, 4 * (16 + 2 * 16), 4 * 2 * 100, 4 * 2 * 8,
                          4 * 2 * 20, 4 * 144, 4 * 2000));
  for (const std::size_t i : {1U, 2U, 3U, 4U})
    EXPECT_EQ(factors[i].op, Collective::all_reduce);
  EXPECT_EQ(factors[2].phase, Phase::backward);
  EXPECT_EQ(factors[3].phase, Phase::after_backward);
}

TEST(CommPlan, DataParallelsHooksBringTheSumToDeviceZero) {
  const auto gradients = [](HookKind hook) {
    CommPlan out;
    for (const Message& m : plan(hooked(StrategyKind::data_parallel, hook),
                                 kTwoLayers, {.ranks = 3, .accumulate = 2}))
      if (m.payload == Payload::gradients) out.push_back(m);
    return out;
  };
  const CommPlan cast = gradients(HookKind::fp16);
  EXPECT_THAT(ops_in(cast),
              ElementsAre("reduce gradients", "reduce gradients"));
  EXPECT_THAT(bytes_in(cast), ElementsAre(2 * 2144, 2 * 2144));
  EXPECT_EQ(cast[0].route, Route::tree);
  EXPECT_EQ(cast[1].pass, 1);
  const CommPlan topk = gradients(HookKind::topk);
  EXPECT_THAT(ops_in(topk),
              ElementsAre("gather gradients", "gather gradients"));
  EXPECT_EQ(topk[0].bytes, 3 * 8 * 536);
  EXPECT_EQ(topk[0].route, Route::star);  // each straight to device 0
  const CommPlan factors = gradients(HookKind::powersgd);
  EXPECT_THAT(bytes_in(factors),
              ElementsAre(4 * (200 + 32 + 16), 4 * (40 + 16),
                          4 * (200 + 32 + 16), 4 * (40 + 16)));
  for (const Message& m : factors) EXPECT_EQ(m.op, Collective::all_reduce);
}

TEST(CommPlan, LocalSgdsHooksCarryTheChangesOfParameters) {
  const CommPlan cast = hooked_plan(StrategyKind::local_sgd, HookKind::bf16);
  EXPECT_THAT(ops_in(cast),
              ElementsAre("all_reduce parameters", "all_reduce parameters",
                          "all_reduce buffers"));
  EXPECT_THAT(bytes_in(cast), ElementsAre(2 * 144, 2 * 2000, 8));
  for (const Message& m : cast) EXPECT_EQ(m.phase, Phase::after_update);
  // Both left factors before both right ones.
  EXPECT_THAT(
      bytes_in(hooked_plan(StrategyKind::local_sgd, HookKind::powersgd)),
      ElementsAre(4 * (16 + 32), 4 * 200, 4 * 16, 4 * 40, 8));
  StrategyConfig later = hooked(StrategyKind::local_sgd, HookKind::topk);
  later.local_start = 1;
  EXPECT_THAT(ops_in(plan(later, kTwoLayers, {.ranks = 3})),
              ElementsAre("broadcast buffers", "all_gather gradients",
                          "all_gather gradients"));
}

TEST(CommPlan, PowerSgdRefusesParametersWithoutShapes) {
  EXPECT_THROW(plan({.kind = StrategyKind::ddp, .hook = HookKind::powersgd},
                    kLinear, {.ranks = 2}),
               Error);
}

TEST(CommPlan, SyncedBatchNormsSendStatisticsInEveryPassBothWays) {
  const CommPlan p = plan({.kind = StrategyKind::ddp, .sync_batchnorm = true},
                          {.numel = {10}, .norm_channels = {3, 5}},
                          {.ranks = 2, .samples = 8, .accumulate = 2});
  EXPECT_THAT(
      ops_in(p),
      ElementsAre("all_gather norm_statistics", "all_gather norm_statistics",
                  "all_reduce norm_statistics", "all_reduce norm_statistics",
                  "all_gather norm_statistics", "all_gather norm_statistics",
                  "all_reduce norm_statistics", "all_reduce norm_statistics",
                  "all_reduce gradients"));
  EXPECT_THAT(bytes_in(p), ElementsAre(56, 88, 40, 24, 56, 88, 40, 24, 40));
}

TEST(CommPlan, ParametersAndBuffersComeFromTheWorkPlan) {
  WorkPlan work;
  work.params.resize(2);
  work.params[0].numel = 6;
  work.params[1].numel = 2;
  work.params[0].shape = {3, 2};
  work.params[1].shape = {2};
  work.layers.resize(2);
  work.layers[0].type = "BatchNorm2d";
  work.layers[0].buffer_numel = 4;
  // A convolution that is not trained is a buffer, and no norm.
  work.layers[1].type = "Conv2d";
  work.layers[1].buffer_numel = 10;
  const ParamList list = param_list(work);
  EXPECT_THAT(list.numel, ElementsAre(6, 2));
  EXPECT_EQ(list.bytes(), 32);
  EXPECT_EQ(list.buffer_bytes, 56);
  EXPECT_THAT(list.rows, ElementsAre(3, 1));
  EXPECT_THAT(list.norm_channels, ElementsAre(2));
}

// nccl-tests, doc/PERFORMANCE.md.
TEST(CommPlan, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

RC_GTEST_PROP(CommPlanProperty, BucketsHoldEveryParameterOnceFromTheLast,
              (const std::vector<std::uint16_t>& sizes, std::uint16_t first,
               std::uint16_t rest)) {
  ParamList params;
  for (const std::uint16_t n : sizes) params.numel.push_back(n + 1);
  const StrategyConfig config{.first_bucket_bytes = first + 1,
                              .bucket_bytes = rest + 1};
  std::vector<std::size_t> order;
  std::int64_t limit = config.first_bucket_bytes;
  for (const auto& bucket : buckets_of(config, params)) {
    std::int64_t bytes = 0;
    for (const std::size_t i : bucket) {
      RC_ASSERT(bytes < limit);  // it would have closed before
      bytes += params.numel[i] * 4;
      order.push_back(i);
    }
    limit = config.bucket_bytes;
  }
  std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) RC_ASSERT(order[i] == i);
  RC_ASSERT(order.size() == sizes.size());
}

RC_GTEST_PROP(CommPlanProperty, SharesAddUpAndDifferByAtMostOne, ()) {
  const std::int64_t total = *rc::gen::inRange<std::int64_t>(0, 1 << 20);
  const std::int64_t parts = *rc::gen::inRange<std::int64_t>(1, 100);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t share = share_of(total, parts, i);
    RC_ASSERT(share == total / parts || share == total / parts + 1);
    if (i > 0) RC_ASSERT(share <= share_of(total, parts, i - 1));
    RC_ASSERT(share_begin(total, parts, i) == sum);
    sum += share;
  }
  RC_ASSERT(sum == total);
}

}  // namespace
}  // namespace lockstep
