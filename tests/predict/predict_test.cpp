// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/predict.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/grid.h"
#include "lockstep/predict/subject.h"

namespace lockstep {
namespace {

Workload model_on(const std::string& model, const std::string& device) {
  return workload_on(find_subject(model), find_device(device),
                     find_software("lockstep"));
}

Question ask(Method method, int ranks, std::int64_t batch) {
  Question q;
  q.method = method, q.ranks = ranks, q.batch = batch;
  q.software = find_software("lockstep");
  return q;
}

// A profile by hand: one layer of compute, one parameter of 100 MB.
Workload one_layer() {
  Profile p;
  p.model = "one layer", p.device = "A100", p.batches = {1, 101};
  p.layers = {{"a", "Linear", 0, 0, {1e-3, 101e-3}, {2e-3, 202e-3}}};
  p.params = {{"a.weight", 25'000'000, 0}};
  p.gradient_order = {0};
  p.step_s = {3e-3, 303e-3};
  return make_workload(p, false);
}

TEST(Predict, OneRankIsTheProfileItself) {
  const Cluster c = find_cluster("dgx-a100");
  const Prediction p = predict(one_layer(), c, ask(Method::single, 1, 51));
  EXPECT_NEAR(p.time.step_s, 153e-3, 1e-9);
  EXPECT_NEAR(p.samples_per_s, 51 / 153e-3, 1e-6);
  EXPECT_EQ(p.speedup, 1);
  EXPECT_EQ(p.verdict, Verdict::scales);
}

// The whole gradient leaves when backward ends: nothing hides.
TEST(Predict, ExposedCommunicationIsTheMessageThatCannotHide) {
  const Cluster c = find_cluster("dgx-a100");
  Assumptions exact{.contention = 0, .jitter = 0};
  const Prediction p = predict(one_layer(), c, ask(Method::ddp, 8, 10), exact);
  const double message = collective_s(c, 8, Collective::all_reduce, 100e6) +
                         find_software("lockstep").message_s;
  EXPECT_NEAR(p.time.exposed_comm_s, message, 1e-9);
  EXPECT_NEAR(p.speedup, 8 * 30e-3 / (30e-3 + message), 1e-6);
}

// What the root of data_parallel adds up, and what local_sgd divides before it
// sends, is read and written in the device's own memory.
TEST(Predict, MessagesCostMemoryTimeToo) {
  const Assumptions exact{.contention = 0, .jitter = 0};
  Cluster c = find_cluster("dgx-a100");
  const auto compute_s = [&](Method method, Route route, double rate) {
    c.device.memory_bytes_per_s = rate;
    Question q = ask(method, 4, 10);
    q.strategy.collective = route;
    return predict(one_layer(), c, q, exact).time.compute_s;
  };
  const auto passes = [&](Method method, Route route = Route::star) {
    return (compute_s(method, route, 1e9) - compute_s(method, route, 2e9)) /
           (100e6 / 2e9);
  };
  EXPECT_NEAR(passes(Method::data_parallel), 3 * 3, 1e-6);
  EXPECT_NEAR(passes(Method::data_parallel, Route::ring), 0, 1e-6);
  EXPECT_NEAR(passes(Method::local_sgd), 2.0 / 8, 1e-6);
  EXPECT_NEAR(passes(Method::ddp), 0, 1e-6);
  // A CPU's copy reads what it overwrites; what is changed in place is read
  // anyway.
  c.device.gpu = false;
  EXPECT_NEAR(passes(Method::data_parallel), 2 * 3, 1e-6);
}

// A hook is priced by what it sends in each strategy: half of what all of them
// sum of the model, and the same running statistics and whole parameters.
TEST(Predict, AHookMakesEveryStrategysMessagesSmaller) {
  const Workload w = model_on("linear", "RTX 3090");
  const Cluster c = find_cluster("4x3090");
  for (const Method m : {Method::data_parallel, Method::ddp, Method::sharded,
                         Method::local_sgd}) {
    Question q = ask(m, 4, 64);
    const double plain = predict(w, c, q).time.comm_s;
    for (const HookKind hook :
         {HookKind::bf16, HookKind::topk, HookKind::powersgd}) {
      q.strategy.hook = hook;
      EXPECT_LT(predict(w, c, q).time.comm_s, 0.95 * plain) << word(m);
    }
    // As a remedy that is not named by its hook.
    q.strategy.hook = HookKind::none, q.wire = WireType::bf16;
    EXPECT_LT(predict(w, c, q).time.comm_s, 0.95 * plain) << word(m);
  }
}

TEST(Predict, AHooksMemoryCounts) {
  Workload w = one_layer();
  w.profile.memory_bytes = {2e9, 3e9};
  const auto added = [&](Method method, HookKind hook) {
    Question q = ask(method, 8, 8);
    const double plain = memory_fit(w, find_cluster("dgx-a100"), q).need_bytes;
    q.strategy.hook = hook;
    return memory_fit(w, find_cluster("dgx-a100"), q).need_bytes - plain;
  };
  EXPECT_NEAR(added(Method::ddp, HookKind::bf16), 50e6, 1);
  EXPECT_NEAR(added(Method::sharded, HookKind::topk), 100e6, 1);
  EXPECT_NEAR(added(Method::local_sgd, HookKind::topk), 200e6, 1);
}

// Ranks that share a memory update faster one at a time.
TEST(Predict, DataParallelUpdatesOnDeviceZeroAlone) {
  Workload w = one_layer();
  w.profile.optimizer_s = 8e-3;
  const auto compute_s = [&](Method method) {
    return predict(w, find_cluster("dgx-a100"), ask(method, 2, 10),
                   {.contention = 0, .jitter = 0})
        .time.compute_s;
  };
  const double ddp = compute_s(Method::ddp);
  const double same = compute_s(Method::data_parallel);
  w.profile.optimizer_alone_s = 5e-3;
  EXPECT_NEAR(compute_s(Method::data_parallel), same - 3e-3, 1e-9);
  EXPECT_EQ(compute_s(Method::ddp), ddp);
  EXPECT_NEAR(compute_s(Method::sharded), ddp - 4e-3, 1e-9);
}

TEST(Predict, EpochsCountTheLastIncompleteStep) {
  Question q = ask(Method::ddp, 2, 32);
  q.epoch_samples = 100;  // two steps of 64
  const Prediction p = predict(one_layer(), find_cluster("dgx-a100"), q);
  EXPECT_NEAR(p.epoch_s, 2 * p.time.step_s, 1e-12);
  q.epoch_samples = 0;
  EXPECT_TRUE(
      std::isnan(predict(one_layer(), find_cluster("dgx-a100"), q).epoch_s));
}

TEST(Predict, TheSeedsLinearModelChokesOnPciAndSaysWhy) {
  const Workload w = model_on("linear", "GTX 1080 Ti");
  const Cluster c = find_cluster("4x1080ti");
  for (const Method m : {Method::data_parallel, Method::ddp}) {
    Question q = ask(m, 2, 10);
    q.scaling = Scaling::strong;
    const Prediction p = predict(w, c, q);
    EXPECT_EQ(p.verdict, Verdict::chokes) << word(m);
    EXPECT_EQ(p.cause, Cause::communication) << word(m);
    // The whole interval says so, not the middle alone.
    EXPECT_LT(p.speedup_90.hi90, kFasterSpeedup);
  }
}

TEST(Predict, ALargeModelOnNvlinkScales) {
  const Prediction p =
      predict(model_on("resnet50", "A100"), find_cluster("dgx-a100"),
              ask(Method::ddp, 8, 128));
  EXPECT_EQ(p.verdict, Verdict::scales);
  EXPECT_GT(p.efficiency, 0.9);
}

TEST(Predict, ASlowLoaderIsNamed) {
  Question q = ask(Method::ddp, 8, 128);
  q.input_samples_per_s = 1000;
  const Prediction p =
      predict(model_on("resnet50", "A100"), find_cluster("dgx-a100"), q);
  EXPECT_EQ(p.cause, Cause::input);
  EXPECT_NEAR(p.samples_per_s, 1000, 1e-6);
}

TEST(Predict, WhatDoesNotFitChokesOnMemory) {
  const Workload w = model_on("resnet50", "A100");
  const Prediction p =
      predict(w, find_cluster("dgx-a100"), ask(Method::ddp, 2, 1 << 14));
  EXPECT_EQ(p.verdict, Verdict::chokes);
  EXPECT_EQ(p.cause, Cause::memory);
  EXPECT_FALSE(p.memory.fits());
  // The largest batch it names does fit, the next does not.
  Question q = ask(Method::ddp, 2, p.memory.largest_batch);
  EXPECT_TRUE(predict(w, find_cluster("dgx-a100"), q).memory.fits());
  q.batch += 1;
  EXPECT_FALSE(predict(w, find_cluster("dgx-a100"), q).memory.fits());
}

TEST(Predict, ShardingSavesOptimizerMemory) {
  Workload w = one_layer();
  w.profile.memory_bytes = {2e9, 3e9};
  w.profile.optimizer_bytes = 8e8;
  const Cluster c = find_cluster("dgx-a100");
  const double whole =
      memory_fit(w, c, ask(Method::local_sgd, 8, 8)).need_bytes;
  const double shard = memory_fit(w, c, ask(Method::sharded, 8, 8)).need_bytes;
  EXPECT_NEAR(whole - shard, 8e8 * 7 / 8, 1);
}

TEST(Predict, RemediesHelpWhereCommunicationHurts) {
  const Workload w = model_on("linear", "RTX 3090");
  const Cluster c = find_cluster("4x3090");
  const Prediction plain = predict(w, c, ask(Method::ddp, 4, 64));
  Question half = ask(Method::ddp, 4, 64);
  half.wire = WireType::bf16;
  Question sparse = ask(Method::ddp, 4, 64);
  sparse.compression = 0.01;
  Question rare = ask(Method::local_sgd, 4, 64);
  Question more = ask(Method::ddp, 4, 64);
  more.accumulate = 8;
  for (const Question& q : {half, sparse, rare, more})
    EXPECT_GT(predict(w, c, q).speedup, 1.2 * plain.speedup);
}

TEST(Predict, SoftwareIsAStatedParameter) {
  const Workload w = model_on("linear", "A100");
  Question q = ask(Method::data_parallel, 4, 64);
  const double ours = predict(w, find_cluster("dgx-a100"), q).time.step_s;
  q.software = find_software("pytorch");
  EXPECT_GT(predict(w, find_cluster("dgx-a100"), q).time.step_s, ours);
}

TEST(Predict, AFlippedQuestionGetsTheVerdictPromised) {
  const Workload w = model_on("resnet18", "RTX 3090");
  const Cluster c = find_cluster("4x3090");
  const Prediction p = predict(w, c, ask(Method::ddp, 4, 8));
  ASSERT_NE(p.verdict, Verdict::scales);
  const std::vector<Flip> flips = flips_of(w, c, p);
  ASSERT_FALSE(flips.empty());
  for (const Flip& f : flips) {
    Question q = p.question;
    Assumptions a;
    if (f.what == "batch") q.batch = static_cast<std::int64_t>(f.value);
    if (f.what == "wire") q.wire = WireType::bf16;
    if (f.what == "accumulate") q.accumulate = static_cast<int>(f.value);
    if (f.what == "link_bytes_per_s") continue;  // a factor, not a question
    EXPECT_LE(predict(w, c, q, a).verdict, f.becomes) << f.text;
    if (f.what != "batch") continue;
    q.batch = q.batch * 97 / 100;
    EXPECT_GT(predict(w, c, q, a).verdict, f.becomes) << f.text;
  }
}

TEST(Predict, ThePipelineHasItsBubble) {
  Profile p;
  p.model = "four equal layers", p.device = "A100", p.batches = {1, 101};
  for (const char* name : {"a", "b", "c", "d"})
    p.layers.push_back({name, "Linear", 0, 8, {1e-3, 101e-3}, {2e-3, 202e-3}});
  p.params = {{"a.weight", 1000, 0}};
  p.gradient_order = {0};
  p.step_s = {12e-3, 1212e-3};
  Question q = ask(Method::model_parallel, 4, 8);
  q.accumulate = 4;
  q.software = {};
  const Prediction got =
      predict(make_workload(p, false), find_cluster("dgx-a100"), q);
  // (m + n - 1) / m = 7/4 of the perfect time (GPipe).
  EXPECT_NEAR(got.time.step_s, 7 * 24e-3, 1e-3);
  EXPECT_NEAR(got.speedup, 4 * 4.0 / 7, 0.03);
  EXPECT_EQ(got.cause, Cause::imbalance);
}

TEST(Predict, AnEstimateIsLessSureThanAProfile) {
  const Cluster c = find_cluster("dgx-a100");
  const auto width = [](const Prediction& p) {
    return std::log(p.step_s.hi90 / p.step_s.lo90);
  };
  const Prediction guess =
      predict(model_on("resnet50", "A100"), c, ask(Method::ddp, 8, 32));
  const Prediction known = predict(one_layer(), c, ask(Method::ddp, 8, 32));
  EXPECT_GT(width(guess), 2 * width(known));
}

TEST(Predict, SpeedupIsNeverAboveIdealForWeakScaling) {
  const Workload w = model_on("mobilenet_v2", "V100");
  EXPECT_TRUE(rc::check("speed-up at most the ranks", [&w] {
    const Cluster& c = find_cluster("v100-cluster");
    const Method m = *rc::gen::element(Method::data_parallel, Method::ddp,
                                       Method::local_sgd);
    Question q = ask(m, *rc::gen::inRange(1, 129), *rc::gen::inRange(1, 200));
    if (q.ranks == 1) q.method = Method::single;
    q.accumulate = *rc::gen::inRange(1, 5);
    const Prediction p = predict(w, c, q);
    RC_ASSERT(p.speedup <= q.ranks * (1 + 1e-9));
    RC_ASSERT(p.step_s.lo90 <= p.time.step_s && p.time.step_s <= p.step_s.hi90);
    RC_ASSERT(std::isfinite(p.speedup_90.lo90) && p.speedup_90.lo90 > 0);
  }));
}

TEST(Predict, AFasterLinkIsNeverSlower) {
  const Workload w = model_on("resnet18", "V100");
  EXPECT_TRUE(rc::check("bandwidth helps", [&w] {
    const Cluster& c = find_cluster("v100-cluster");
    const Question q =
        ask(Method::ddp, *rc::gen::inRange(2, 65), *rc::gen::inRange(1, 300));
    Assumptions slow, fast;
    slow.link.bandwidth = 0.1 + *rc::gen::inRange(0, 100) / 10.0;
    fast.link.bandwidth = slow.link.bandwidth * 1.5;
    RC_ASSERT(predict(w, c, q, fast).time.step_s <=
              predict(w, c, q, slow).time.step_s * (1 + 1e-9));
  }));
}

TEST(Predict, ImpossibleQuestionsAreRefused) {
  const Workload w = one_layer();
  const Cluster c = find_cluster("dgx-a100");
  const auto refused = [&](auto change) {
    Question q = ask(Method::ddp, 2, 8);
    change(q);
    EXPECT_THROW(predict(w, c, q), Error);
  };
  refused([](Question& q) { q.ranks = 0; });
  refused([](Question& q) { q.ranks = 9; });
  refused([](Question& q) { q.batch = -1; });
  refused([](Question& q) { q.accumulate = 0; });
  refused([](Question& q) { q.compression = 0; });
  refused([](Question& q) { q.input_samples_per_s = -5; });
  refused([](Question& q) { q.method = Method::single; });
}

}  // namespace
}  // namespace lockstep
