// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/claims.h"

#include <gtest/gtest.h>

#include "lockstep/report/claim_points.h"
#include "lockstep/report/learning_outcomes.h"
#include "lockstep/report/seed_figures.h"

namespace lockstep {
namespace {

StudyPoint claim_point(const std::string& model, const std::string& strategy,
                       std::int64_t ranks, std::int64_t batch, double epoch_s) {
  StudyPoint p;
  p.model = model, p.strategy = strategy, p.device = "cpu";
  p.ranks = ranks, p.global_batch = batch, p.per_rank = batch / ranks;
  p.epoch_s = epoch_s;
  p.step = single_value(epoch_s * static_cast<double>(batch) / 2000);
  return p;
}

// The seed's own world: 2 GB/s between devices, one device in half the time.
Study as_published() {
  Study study{.paths = {}, .kind = "stevens"};
  for (const SeedFigure& f : seed_figures("stevens")) {
    StudyPoint p =
        claim_point(f.model, f.ranks > 1 ? "data_parallel" : "single", f.ranks,
                    f.global_batch, f.value);
    if (f.ranks > 1) {
      p.bytes_a_step =
          f.model == "linear" ? 2 * 12'102'220 * 4.0 : 2 * 376'200 * 4.0;
      p.pieces.comm_s = 0.7 * p.step.value;
    }
    study.points.push_back(p);
  }
  return study;
}

const Claim& claim_with(const std::vector<Claim>& claims,
                        const std::string& text) {
  for (const Claim& c : claims)
    if (c.claim.find(text) != std::string::npos) return c;
  throw Error(Fault::internal, text, "no such claim");
}

TEST(Claims, TheSeedsOwnFiguresBearOutItsClaims) {
  const auto claims = claims_of(as_published());
  EXPECT_EQ(claim_with(claims, "one GPU beats several").verdict,
            ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "one over the batch").verdict,
            ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "2, 3 and 4 GPUs take the same").verdict,
            ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "moves the model twice").verdict,
            ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "linear in the bytes").verdict,
            ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "network choke").verdict, ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "above batch 10").verdict, ClaimVerdict::holds);
}

TEST(Claims, AWorldWhereSeveralDevicesWinContradictsThem) {
  Study study = as_published();
  for (StudyPoint& p : study.points)
    if (p.ranks > 1) p.epoch_s /= 20, p.step.value /= 20, p.pieces.comm_s = 0;
  const auto claims = claims_of(study);
  EXPECT_EQ(claim_with(claims, "one GPU beats several").verdict,
            ClaimVerdict::does_not_hold);
  EXPECT_EQ(claim_with(claims, "network choke").verdict,
            ClaimVerdict::cannot_be_tested);
}

TEST(Claims, WithoutPointsNothingIsDecided) {
  for (const char* kind : {"stevens", "qeios", "hpml"}) {
    const auto claims = claims_of(Study{.paths = {}, .kind = kind});
    EXPECT_GE(claims.size(), 9u) << kind;
    for (const Claim& c : claims) {
      EXPECT_EQ(c.verdict, ClaimVerdict::cannot_be_tested) << c.claim;
      EXPECT_FALSE(c.measured.empty()) << c.claim;
    }
    EXPECT_FALSE(seed_faults(kind).empty());
  }
  EXPECT_TRUE(claims_of(Study{.paths = {}, .kind = "plain"}).empty());
}

// Bytes of 40 messages of ResNet-18's 20 BatchNorms on 2 ranks, as run.
TEST(Claims, SynchronisedStatisticsAreSaidBesideLocalOnesByPayload) {
  Study study{.paths = {}, .kind = "hpml"};
  for (const char* arm : {"", "sync_batchnorm=true"}) {
    StudyPoint p = claim_point("resnet18", "ddp", 2, 16, 100);
    p.arm = arm;
    p.payloads = {{"control", 1, 8, 0, 1e-6},
                  {"gradients", 3, 44.7e6, 44.7e6, 4e-3}};
    if (!p.arm.empty())
      p.payloads.push_back({"norm_statistics", 40, 115e3, 77e3, 66e-6});
    study.points.push_back(p);
  }
  const auto claims = claims_of(study);
  const Claim& claim = claim_with(claims, "BatchNorm's statistics");
  EXPECT_EQ(claim.verdict, ClaimVerdict::does_not_hold);
  EXPECT_NE(claim.measured.find(
                "a step on 2 x 8 sends with local statistics 44.7 MB of "
                "gradients in 3 messages, 4.00 ms; synchronised 44.7 MB of "
                "gradients in 3 messages, 4.00 ms; 115 kB of norm_statistics "
                "in 40 messages, 66.0 us"),
            std::string::npos)
      << claim.measured;
  study.points.pop_back();
  const auto alone = claims_of(study);
  EXPECT_EQ(claim_with(alone, "BatchNorm's statistics").verdict,
            ClaimVerdict::cannot_be_tested);
}

TEST(Claims, APredictedTimeSaysSo) {
  Study study = as_published();
  for (StudyPoint& p : study.points)
    if (p.ranks == 4) p.origin = Origin::predicted;
  const auto claims = claims_of(study);
  const Claim& same = claim_with(claims, "2, 3 and 4 GPUs take the same");
  EXPECT_NE(same.measured.find("(predicted)"), std::string::npos);
}

// Milliseconds of a step on 2, 3 and 4 devices by route, as the recipe
// study_stevens_routes.toml predicts them for the seed's GPUs.
Study routes(double star_4_s, double ring_4_s) {
  Study study{.paths = {}, .kind = "stevens"};
  const auto add = [&](const char* route, std::int64_t ranks, double step_s) {
    StudyPoint p =
        claim_point("linear", "data_parallel", ranks, 20, 100 * step_s);
    p.step = single_value(step_s), p.route = route;
    p.origin = Origin::predicted, p.why = "predicted from 4x1080ti";
    study.points.push_back(p);
  };
  add("star", 2, 0.0261), add("star", 3, 0.0505), add("star", 4, star_4_s);
  add("ring", 2, 0.0261), add("ring", 3, 0.0262), add("ring", 4, ring_4_s);
  return study;
}

TEST(Claims, TheRouteIsWhyTwoAndFourAreEqual) {
  const auto claims = claims_of(routes(0.0748, 0.0263));
  const Claim& why = claim_with(claims, "NCCL sends to many");
  EXPECT_EQ(why.verdict, ClaimVerdict::holds);
  EXPECT_NE(why.measured.find("batch 20 on 2, 3, 4 devices: star 26.1 ms, 50.5 "
                              "ms, 74.8 ms (predicted from 4x1080ti); ring "
                              "26.1 ms, 26.2 ms, 26.3 ms (predicted"),
            std::string::npos)
      << why.measured;
  EXPECT_NE(why.measured.find("links of their own"), std::string::npos);
  // The seed's own route is the one that is judged.
  const Claim& same = claim_with(claims, "take the same time");
  EXPECT_EQ(same.verdict, ClaimVerdict::holds);
  EXPECT_NE(same.measured.find("star, all through device 0: furthest apart"),
            std::string::npos);
}

TEST(Claims, ARouteThatChangesNothingOrDoesNotLevelIsNotWhy) {
  const auto verdict = [](const Study& study) {
    return claim_with(claims_of(study), "NCCL sends to many").verdict;
  };
  EXPECT_EQ(verdict(routes(0.0263, 0.0263)), ClaimVerdict::does_not_hold);
  EXPECT_EQ(verdict(routes(0.0748, 0.0600)), ClaimVerdict::does_not_hold);
  Study one_route = routes(0.0748, 0.0263);
  one_route.points.resize(3);
  EXPECT_EQ(verdict(one_route), ClaimVerdict::cannot_be_tested);
}

TEST(Claims, HpmlWeakScalingAsPublishedHolds) {
  Study study{.paths = {}, .kind = "hpml"};
  for (const SeedFigure& f : seed_figures("hpml"))
    if (f.figure == "Table 1" || f.quantity == "strong_epoch")
      study.points.push_back(claim_point("resnet18",
                                         f.ranks > 1 ? "ddp" : "single",
                                         f.ranks, f.global_batch, f.value));
  const auto claims = claims_of(study);
  EXPECT_EQ(claim_with(claims, "weak scaling").verdict, ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "strong scaling").verdict, ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "larger the batch").verdict,
            ClaimVerdict::holds);
  EXPECT_NE(claim_with(claims, "weak scaling").measured.find("4 x 512: 3.63"),
            std::string::npos);
}

RunFacts trained_run(std::int64_t batch, const std::string& arm,
                     double accuracy) {
  RunFacts run;
  run.model = "mobilenet_v2", run.arm = arm, run.global_batch = batch;
  run.epoch_s = 1000.0 / static_cast<double>(batch);
  EpochSample e;
  e.train_accuracy = 0.9, e.val_accuracy = accuracy;
  run.epochs = {e};
  return run;
}

TEST(Claims, WhatTheLearningRateDidIsNotTheBatchs) {
  Study study{.paths = {}, .kind = "qeios"};
  study.runs = {trained_run(32, "fixed", 0.8), trained_run(64, "fixed", 0.82),
                trained_run(128, "fixed", 0.7),
                trained_run(128, "linear", 0.82)};
  const auto claims = claims_of(study);
  EXPECT_EQ(claim_with(claims, "batch 64").verdict, ClaimVerdict::holds);
  EXPECT_EQ(claim_with(claims, "128 loses").verdict,
            ClaimVerdict::does_not_hold);
  study.runs[3] = trained_run(128, "linear", 0.7);
  EXPECT_EQ(claim_with(claims_of(study), "128 loses").verdict,
            ClaimVerdict::holds);
}

TEST(Claims, AScaledRateIsKnownByEitherSpelling) {
  Study study{.paths = {}, .kind = "qeios"};
  study.runs = {trained_run(32, "", 0.8), trained_run(64, "", 0.82),
                trained_run(128, "", 0.7),
                trained_run(128, "lr_rule=linear", 0.82)};
  EXPECT_EQ(claim_with(claims_of(study), "128 loses").verdict,
            ClaimVerdict::does_not_hold);
  for (const char* arm : {"linear", "lr_rule=linear", "lr_rule=square_root",
                          "lr_rule=linear, warmup_epochs=1.0"})
    EXPECT_TRUE(rate_scaled(arm)) << arm;
  for (const char* arm : {"", "fixed", "lr_rule=none", "fixed, flip=false",
                          "warmup_epochs=2.0, kind=lamb"})
    EXPECT_FALSE(rate_scaled(arm)) << arm;
  EXPECT_TRUE(fixed_rate_arm("lr_rule=none"));
  EXPECT_FALSE(fixed_rate_arm("fixed, flip=false"));
  EXPECT_FALSE(scaled_rate_arm("linear, warmup_epochs=1.0"));
}

TEST(Claims, MemoryThatRanksShareIsNotThatOfEach) {
  Study study{.paths = {}, .kind = "qeios"};
  for (const std::int64_t ranks : {1, 2}) {
    StudyPoint p = claim_point("mobilenet_v2", "ddp", ranks, 16, 1);
    p.device = "cuda", p.peak_memory_bytes = 4e9 / static_cast<double>(ranks);
    study.points.push_back(p);
  }
  EXPECT_EQ(claim_with(claims_of(study), "memory").verdict,
            ClaimVerdict::holds);
  study.points[1].why = "ranks 2, GPUs 1";
  EXPECT_EQ(claim_with(claims_of(study), "memory").verdict,
            ClaimVerdict::cannot_be_tested);
}

// Five classes and so many validation samples.
Study on_samples(std::int64_t samples, std::vector<RunFacts> runs) {
  Study study{.paths = {}, .kind = "qeios", .runs = std::move(runs)};
  for (RunFacts& run : study.runs)
    run.classes = 5, run.validation_samples = samples;
  return study;
}

TEST(Claims, NetsThatLearntNothingDecideNothing) {
  std::vector<RunFacts> runs;
  for (const std::int64_t batch : {16, 32, 64, 128})
    runs.push_back(trained_run(batch, "fixed", 0.2));
  runs.push_back(trained_run(128, "linear", 0.2));
  runs.push_back(trained_run(32, "fixed, flip=false", 0.2));
  runs.push_back(trained_run(32, "fixed", 0.2));
  runs.back().ranks = 2;
  const auto claims = claims_of(on_samples(250, runs));
  for (const char* text : {"batch 64", "128 loses", "single GPU overfits",
                           "prevent overfitting"}) {
    const Claim& c = claim_with(claims, text);
    EXPECT_EQ(c.verdict, ClaimVerdict::cannot_be_tested) << text;
    EXPECT_NE(c.measured.find("nothing was learnt: 20.0 %"), std::string::npos)
        << c.measured;
  }
  EXPECT_NE(claim_with(claims, "smaller batches").measured.find("times alone"),
            std::string::npos);
}

TEST(Claims, ASmallValidationSetTellsNoNearAccuraciesApart) {
  const std::vector<RunFacts> runs = {
      trained_run(32, "", 0.712), trained_run(64, "", 0.688),
      trained_run(128, "", 0.704), trained_run(128, "lr_rule=linear", 0.672)};
  for (const char* text : {"batch 64", "128 loses"}) {
    const Claim few = claim_with(claims_of(on_samples(250, runs)), text);
    EXPECT_EQ(few.verdict, ClaimVerdict::cannot_be_tested) << text;
    EXPECT_NE(few.measured.find("noise of its 250"), std::string::npos);
    EXPECT_EQ(claim_with(claims_of(on_samples(100000, runs)), text).verdict,
              ClaimVerdict::does_not_hold)
        << text;
  }
}

TEST(Claims, OverfittingIsJudgedWhereOneDeviceOverfits) {
  RunFacts one = trained_run(32, "fixed", 0.7), two = one;
  two.ranks = 2;
  const auto verdict = [&](double on_two) {
    two.epochs.back().val_accuracy = on_two;
    return claim_with(claims_of(on_samples(2000, {one, two})),
                      "single GPU overfits")
        .verdict;
  };
  EXPECT_EQ(verdict(0.71), ClaimVerdict::does_not_hold);
  EXPECT_EQ(verdict(0.85), ClaimVerdict::holds);
  // Worse on several devices is not what the seed says.
  EXPECT_EQ(verdict(0.5), ClaimVerdict::does_not_hold);
  one = trained_run(32, "fixed", 0.89), two = one, two.ranks = 2;
  EXPECT_EQ(verdict(0.89), ClaimVerdict::cannot_be_tested);
}

TEST(SeedFigures, StandBesideOursAndBesideThePredictionForTheirGpus) {
  const Json rows = to_json(seed_table(as_published()))["rows"];
  ASSERT_EQ(rows.size(), 60u);
  for (const Json& row : rows) {
    EXPECT_EQ(row["seed_value"], row["ours_epoch_s"]);
    EXPECT_GT(row["predicted_for_its_gpus_s"], 0);
  }
  EXPECT_TRUE(
      to_json(seed_table(Study{.paths = {}, .kind = "plain"}))["rows"].empty());
}

TEST(Claims, ALineIsFittedWithItsInterval) {
  const std::vector<double> x = {1, 2, 3, 4}, y = {3.1, 4.9, 7.1, 8.9};
  const Line line = fit_line(x, y);
  // numpy.polyfit and scipy.stats.linregress: slope 1.96, stderr 0.0565685.
  EXPECT_NEAR(line.slope, 1.96, 1e-9);
  EXPECT_NEAR(line.slope_high - line.slope, 4.302653 * 0.0565685, 1e-5);
  EXPECT_NEAR(line.r2, 0.9983368, 1e-6);
}

}  // namespace
}  // namespace lockstep
