// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/file.h"
#include "lockstep/sweep/child.h"
#include "lockstep/sweep/forecast.h"
#include "lockstep/sweep/job.h"
#include "tests/sweep/place.h"

namespace lockstep {
namespace {

TEST(Sweep, RunsEachPointUntilItsMedianIsKnown) {
  const Place place;
  StudyFolder folder = place.create(recipe("1, 2"));
  EXPECT_EQ(place.run(folder), SweepEnd::finished);
  const StudyState state = place.state();
  ASSERT_EQ(state.points.size(), 2u);
  EXPECT_TRUE(state.complete);
  for (const PointState& p : state.points) {
    EXPECT_EQ(p.runs.size(), 3u);
    EXPECT_EQ(p.settled["within"], true);
    EXPECT_DOUBLE_EQ(p.settled["median_step_s"], 0.01);
    EXPECT_DOUBLE_EQ(p.settled["epoch_s"], 0.1);
    // Six steps a run count, two warm up.
    EXPECT_EQ(p.settled["samples"], 18);
  }
}

TEST(Sweep, RepeatsAreInterleaved) {
  const Place place;
  StudyFolder folder = place.create(recipe("1, 2, 3"));
  place.run(folder);
  const auto calls = place.calls();
  ASSERT_EQ(calls.size(), 9u);
  for (std::size_t round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(
          calls[3 * round + i].ends_with("/" + std::to_string(round + 1)))
          << calls[3 * round + i];
}

TEST(Sweep, SaysWhenThePrecisionWasNotReached) {
  const Place place;
  StudyFolder folder = place.create(recipe("7", "max_repeats = 4\n"));
  place.run(folder);
  const PointState p = place.state().points.front();
  EXPECT_EQ(p.runs.size(), 4u);
  EXPECT_EQ(p.settled["within"], false);
  EXPECT_GT(p.settled["half_width"], 0.02);
}

TEST(Sweep, EveryKindOfFailureCostsItsPointAlone) {
  const Place place;
  StudyFolder folder =
      place.create(recipe("1, 11, 12, 13, 14, 15, 2", "deadline_s = 0.5\n"));
  const double begin = now_s();
  EXPECT_EQ(place.run(folder), SweepEnd::finished);
  EXPECT_LT(now_s() - begin, 20);
  const StudyState state = place.state();
  std::vector<std::string> whys;
  for (const PointState& p : state.points)
    whys.push_back(p.failures.empty() ? "" : p.failures[0].why);
  EXPECT_EQ(whys,
            (std::vector<std::string>{"", "deadline", "does not fit", "crashed",
                                      "lost rank", "store", ""}));
  EXPECT_EQ(state.points[0].runs.size(), 3u);
  EXPECT_EQ(state.points[6].runs.size(), 3u);
  EXPECT_NE(state.points[2].failures[0].message.find("does not fit"),
            std::string::npos);
}

TEST(Sweep, GoesOnWhereTimeRanOutAndRepeatsNothing) {
  const Place place;
  {
    StudyFolder folder = place.create(recipe("1, 2, 12"));
    EXPECT_EQ(place.run(folder, {.max_minutes = 1e-9}), SweepEnd::out_of_time);
    EXPECT_EQ(place.calls().size(), 0u);
  }
  for (int i = 0; i < 20; ++i) {
    StudyFolder folder = StudyFolder::open(place.study);
    // Long enough for a run or two.
    if (place.run(folder, {.max_minutes = 0.1 / 60}) == SweepEnd::finished)
      break;
  }
  const auto calls = place.calls();
  EXPECT_EQ(calls.size(), 7u);
  const StudyState state = place.state();
  EXPECT_EQ(state.points[0].runs.size(), 3u);
  EXPECT_EQ(state.points[2].failures.size(), 1u);
}

TEST(Sweep, ARunThatEndedWithoutItsLineInTheLedgerIsNotRepeated) {
  const Place place;
  {
    StudyFolder folder = place.create(recipe("1"));
    place.run(folder);
  }
  // As if killed after the second run's end: its line and all later are gone.
  std::string text = read_file(place.study / "ledger.jsonl", Fault::store);
  std::size_t cut = text.find("\"done\"");
  cut = text.find("\"done\"", cut + 1);
  write_file(place.study / "ledger.jsonl",
             text.substr(0, text.rfind('\n', cut) + 1));
  StudyFolder folder = StudyFolder::open(place.study);
  place.run(folder);
  EXPECT_EQ(place.calls().size(), 3u);
  EXPECT_EQ(place.state().points[0].runs.size(), 3u);
}

TEST(Sweep, PointsBeyondTheMachineArePredictedWhenAsked) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\ntimed_steps = 6\n[strategy]\nkind = \"ddp\"\n"
      "[grid]\nbatch.global = 10000\ncomm.ranks = [1, 4096]\n");
  EXPECT_EQ(place.run(folder, {.predict_missing = true}), SweepEnd::finished);
  const StudyState state = place.state();
  EXPECT_EQ(state.points[1].mode, "predicted");
  EXPECT_TRUE(state.points[1].runs.empty());
  EXPECT_GT(state.points[1].predicted["step_s"], 0);
  EXPECT_EQ(state.points[1].predicted["from"], "a guess at this machine");
}

TEST(Sweep, WhatIsPredictedRestsOnNothingEmulated) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\ntimed_steps = 6\n[strategy]\nkind = \"ddp\"\n"
      "[comm]\nlink = \"nvlink2\"\n[grid]\nbatch.global = 10000\n"
      "comm.kind = [\"threads\", \"emulated\"]\ncomm.ranks = [1, 4096]\n");
  EXPECT_EQ(place.run(folder, {.predict_missing = true}), SweepEnd::finished);
  const StudyState state = place.state();
  EXPECT_EQ(state.points[3].mode, "emulated");
  EXPECT_EQ(state.points[3].runs.size(), 3u);
  EXPECT_EQ(state.points[1].predicted["from"], "a guess at this machine");
}

TEST(Sweep, WhatRanWithoutRoomIsPredictedOnceForAllItsSeeds) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\ntimed_steps = 6\n[strategy]\nkind = \"ddp\"\n"
      "[grid]\nbatch.global = 10000\ncomm.ranks = 4096\ntrain.seed = [1, 2]\n");
  place.run(folder);
  const std::size_t calls = place.calls().size();
  EXPECT_TRUE(place.state().points[0].predicted.is_null());
  for (int times = 0; times < 2; ++times) {
    place.run(folder, {.predict_missing = true});
    const StudyState state = place.state();
    EXPECT_EQ(state.points[0].mode, "correctness");
    EXPECT_GT(state.points[0].predicted["step_s"], 0);
    EXPECT_TRUE(state.points[1].predicted.is_null());
  }
  EXPECT_EQ(place.calls().size(), calls);
}

TEST(Sweep, WithoutBeingAskedTheyAreRunButNotTimed) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\ntimed_steps = 6\n[strategy]\nkind = \"ddp\"\n"
      "[grid]\nbatch.global = 10000\ncomm.ranks = 4096\n");
  place.run(folder);
  const PointState p = place.state().points.front();
  EXPECT_EQ(p.mode, "correctness");
  ASSERT_EQ(p.runs.size(), 1u);
  EXPECT_FALSE(p.runs[0].timed);
  EXPECT_TRUE(p.settled.is_null());
}

TEST(StudyFit, PredictsMoreRanksFromMeasuredOnes) {
  // Compute 1 ms a sample, exchange of 20 ms a step: made up, exactly fitted.
  const StudyRecipe recipe = parse_study(
      "[strategy]\nkind = \"ddp\"\n[data]\nsynthetic_samples = 1000\n[grid]\n"
      "batch.global = [20, 40, 80, 160]\ncomm.ranks = [1, 2, 4]\n",
      "s.toml");
  const std::vector<Point> points = points_of(recipe);
  const auto epoch_s = [](const Point& p) {
    const auto batch = static_cast<double>(p.config.batch.global);
    const auto ranks = static_cast<double>(p.config.comm.ranks);
    return std::ceil(1000 / batch) *
           (1e-3 * std::ceil(batch / ranks) + (ranks > 1 ? 0.02 : 0));
  };
  std::vector<MeasuredPoint> measured;
  for (const Point& p : points)
    if (p.config.comm.ranks < 4)
      measured.push_back(
          {.point = &p, .epoch_s = epoch_s(p), .epoch_samples = 1000});
  const StudyFit fit(measured);
  for (const Point& p : points)
    if (p.config.comm.ranks == 4) {
      const auto f = fit.of(p);
      ASSERT_TRUE(f.has_value());
      EXPECT_NEAR(f->epoch_s / epoch_s(p), 1, 0.15) << p.id;
    }
}

TEST(WhatIf, TakesOneDeviceAsMeasuredAndTheLinksOfThePreset) {
  const StudyRecipe recipe = parse_study(
      "[model]\nkind = \"linear\"\n[train]\ndevice = \"cuda\"\n"
      "[strategy]\nkind = \"ddp\"\n[grid]\n"
      "batch.global = [20, 40, 80]\ncomm.ranks = [1, 2]\n",
      "s.toml");
  const std::vector<Point> points = points_of(recipe);
  // Far slower than any preset says, so that nothing else can explain it.
  const auto alone_s = [](double batch) { return 0.1 + 0.01 * batch; };
  std::vector<MeasuredPoint> measured;
  for (const Point& p : points)
    if (p.config.comm.ranks == 1)
      measured.push_back(
          {.point = &p,
           .step_s = alone_s(static_cast<double>(p.config.batch.global))});
  for (const Point& p : points) {
    const PointForecast f = what_if(p, "hgx-h200", measured);
    const auto batch = static_cast<double>(p.config.batch.global);
    const auto ranks = static_cast<double>(p.config.comm.ranks);
    // 48 MB over NVLink are nothing beside this.
    EXPECT_NEAR(f.step_s / alone_s(batch / ranks), 1, 0.1) << p.id;
    EXPECT_NE(f.from.find("measured"), std::string::npos);
    const PointForecast preset = what_if(p, "hgx-h200");
    EXPECT_LT(preset.step_s, 0.01 * f.step_s);
    EXPECT_TRUE(f.memory_known);
    EXPECT_NEAR(f.memory_bytes / preset.memory_bytes, 1, 1e-9);
  }
}

TEST(WhatIf, TakesTheSamplesOfAnEpochFromWhoReadTheSameData) {
  const StudyRecipe recipe = parse_study(
      "[model]\nkind = \"mobilenet_v2\"\n[train]\ndevice = \"cuda\"\n"
      "[strategy]\nkind = \"ddp\"\n[grid]\nbatch.global = 20\n"
      "data.kind = [\"images\", \"digits\"]\ncomm.ranks = [1, 2]\n",
      "s.toml");
  const std::vector<Point> points = points_of(recipe);
  ASSERT_EQ(points[2].config.comm.ranks, 2);  // images, digits on one, on two
  const std::vector<MeasuredPoint> measured{
      {.point = &points[0], .step_s = 1, .epoch_samples = 1000}};
  EXPECT_TRUE(std::isnan(what_if(points[2], "hgx-h200").epoch_s));
  const PointForecast f = what_if(points[2], "hgx-h200", measured);
  EXPECT_NEAR(f.epoch_s / f.step_s, 50, 1e-9);
  const PointForecast other = what_if(points[3], "hgx-h200", measured);
  EXPECT_NEAR(other.epoch_s / other.step_s, 100, 1e-9);  // 2,000 clips
}

TEST(WhatIf, TakesNoStepOfSeveralPassesForOne) {
  const StudyRecipe recipe = parse_study(
      "[model]\nkind = \"linear\"\n[train]\ndevice = \"cuda\"\n"
      "[strategy]\nkind = \"ddp\"\n[batch]\naccumulate = 4\n[grid]\n"
      "batch.global = [20, 40, 80]\ncomm.ranks = [1, 2]\n",
      "s.toml");
  const std::vector<Point> points = points_of(recipe);
  std::vector<MeasuredPoint> measured;
  for (const Point& p : points)
    if (p.config.comm.ranks == 1)
      measured.push_back({.point = &p, .step_s = 1});
  for (const Point& p : points) {
    const PointForecast f = what_if(p, "hgx-h200", measured);
    EXPECT_EQ(f.from, "hgx-h200");
    EXPECT_EQ(f.step_s, what_if(p, "hgx-h200").step_s);
  }
}

TEST(Jobs, TheFirstSeedOfEachPointComesBeforeTheSecondOfAny) {
  const StudyRecipe recipe = parse_study(
      "[study]\nmeasure = \"train\"\n[grid]\nbatch.global = [20, 40]\n"
      "train.seed = [1, 2]\n",
      "s.toml");
  std::vector<Job> jobs;
  for (Point& p : points_of(recipe)) jobs.push_back({.point = std::move(p)});
  std::vector<std::int64_t> seeds, batches;
  for (const std::size_t i : order_of_round(jobs, 1)) {
    seeds.push_back(jobs[i].point.config.train.seed);
    batches.push_back(jobs[i].point.config.batch.global);
  }
  EXPECT_EQ(seeds, (std::vector<std::int64_t>{1, 1, 2, 2}));
  EXPECT_EQ(batches, (std::vector<std::int64_t>{20, 40, 20, 40}));
}

ChildEnd run_child(ChildOrder order) {
  Child child(std::move(order));
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (const auto end = child.poll()) return *end;
}

TEST(Child, EndsWithItsDeadlineAndTellsItsLastWords) {
  const TempDir dir;
  const ChildEnd end = run_child(
      {.command = {"/bin/sh", "-c",
                   "echo start; echo 'lockstep: here: is wrong' >&2; sleep 30"},
       .log = dir.path / "log",
       .deadline_s = 0.2});
  EXPECT_TRUE(end.late);
  EXPECT_LT(end.seconds, 5);
  EXPECT_EQ(end.last_words, "here: is wrong");
  EXPECT_EQ(why_failed(end, false), "deadline");
}

TEST(Child, AProgramThatIsNotThereIsAFailureNotAnError) {
  const TempDir dir;
  const ChildEnd end =
      run_child({.command = {"/nowhere/lockstep"}, .log = dir.path / "log"});
  EXPECT_EQ(why_failed(end, false), "crashed");
}

}  // namespace
}  // namespace lockstep
