// SPDX-License-Identifier: Apache-2.0
// Several runs at a time: side by side where nobody looks at times, alone where
// somebody does, and as safe against every end as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "tests/sweep/place.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr const char* kTrain = "measure = \"train\"\n";

// At most so many ran at a time, by the log of the runs themselves.
int most_at_once(const std::vector<std::string>& log) {
  int now = 0, most = 0;
  for (const std::string& line : log) {
    now += line.starts_with("begin") ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

void let_go(const Place& place) { write_file(place.dir.path / "go", ""); }

// Until the log of the runs has so many lines.
void wait_for_lines(const Place& place, std::size_t count) {
  for (int i = 0; i < 1000 && place.lines_of("log").size() < count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Sweeps until so many runs have begun, then is told to stop as by Ctrl-C.
SweepEnd interrupt(const Place& place, StudyFolder& folder, std::size_t begun) {
  std::atomic<int> stop = 0;
  std::jthread hand([&] {
    wait_for_lines(place, begun);
    stop = SIGINT;
  });
  return place.run(folder, {.jobs = static_cast<int>(begun), .stop = &stop});
}

std::size_t count_of(const Place& place, const std::string& kind) {
  const auto events = read_ledger(place.study / "ledger.jsonl");
  return static_cast<std::size_t>(std::ranges::count_if(
      events, [&](const Json& e) { return e["event"] == kind; }));
}

TEST(SideBySide, TrainingsRunSideBySideAndNoneOfThemIsTimed) {
  const Place place;
  StudyFolder folder = place.create(recipe("21, 22", kTrain));
  EXPECT_EQ(place.run(folder, {.jobs = 2}), SweepEnd::finished);
  const StudyState state = place.state();
  for (const PointState& p : state.points) {
    ASSERT_EQ(p.runs.size(), 1u) << p.id;
    EXPECT_FALSE(p.runs[0].timed);
    EXPECT_TRUE(p.runs[0].shared);
    EXPECT_EQ(p.runs[0].result["final_val_accuracy"], 0.5);
    for (const char* time : {"median_step_s", "epoch_s", "samples_per_s"})
      EXPECT_TRUE(p.runs[0].result[time].is_null()) << time;
  }
}

TEST(SideBySide, OneAtATimeIsTimedAsEver) {
  const Place place;
  StudyFolder folder = place.create(recipe("100, 101", kTrain));
  EXPECT_EQ(place.run(folder), SweepEnd::finished);
  EXPECT_EQ(most_at_once(place.lines_of("log")), 1);
  for (const PointState& p : place.state().points) {
    EXPECT_TRUE(p.runs[0].timed);
    EXPECT_FALSE(p.runs[0].shared);
  }
}

TEST(SideBySide, NoMoreRunThanWereAskedForAndTheFirstSeedsComeFirst) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\nmeasure = \"train\"\n[grid]\n"
      "batch.global = [10, 20, 30]\ntrain.seed = [100, 101]\n");
  EXPECT_EQ(place.run(folder, {.jobs = 3}), SweepEnd::finished);
  EXPECT_GT(most_at_once(place.lines_of("log")), 1);
  EXPECT_LE(most_at_once(place.lines_of("log")), 3);
  std::vector<std::int64_t> seeds;
  const StudyState state = place.state();
  for (const Json& e : read_ledger(place.study / "ledger.jsonl"))
    if (e["event"] == "started")
      seeds.push_back(std::ranges::find(state.points,
                                        e["point"].get<std::string>(),
                                        &PointState::id)
                          ->axes["seed"]);
  EXPECT_THAT(seeds, ElementsAre(100, 100, 100, 101, 101, 101));
}

TEST(SideBySide, WhatIsTimedRunsAlone) {
  const Place place;
  StudyFolder folder = place.create(
      "[study]\nwarmup_steps = 2\ntimed_steps = 6\n[strategy]\nkind = \"ddp\"\n"
      "[batch]\nglobal = 10000\n[grid]\ncomm.ranks = [1, 4096]\n"
      "train.seed = [100, 101]\n");
  EXPECT_EQ(place.run(folder, {.jobs = 4}), SweepEnd::finished);
  std::vector<std::string> now;
  const auto timed = [](const std::string& w) { return w.starts_with("1-"); };
  bool together = false;
  for (const std::string& line : place.lines_of("log")) {
    const std::string what = line.substr(line.find(' ') + 1);
    if (line.starts_with("begin"))
      now.push_back(what);
    else
      std::erase(now, what);
    together |= now.size() > 1;
    EXPECT_TRUE(now.size() < 2 || std::ranges::none_of(now, timed)) << line;
  }
  EXPECT_TRUE(together);  // the two for correctness
  for (const PointState& p : place.state().points) {
    EXPECT_EQ(p.runs.size(), p.mode == "timed" ? 3u : 1u);
    for (const PointRun& run : p.runs) {
      EXPECT_EQ(run.timed, p.mode == "timed");
      EXPECT_EQ(run.shared, p.mode == "correctness");
    }
  }
}

TEST(SideBySide, TooLittleMemoryBesideOthersIsNoResult) {
  const Place place;
  StudyFolder folder = place.create(recipe("16, 100, 101", kTrain));
  EXPECT_EQ(place.run(folder, {.jobs = 3}), SweepEnd::finished);
  const StudyState state = place.state();
  EXPECT_TRUE(state.points[0].failures.empty());
  ASSERT_EQ(state.points[0].runs.size(), 1u);
  EXPECT_TRUE(state.points[0].runs[0].timed);  // the second time alone
  EXPECT_FALSE(state.points[0].runs[0].shared);
  EXPECT_EQ(place.calls().size(), 4u);
  EXPECT_EQ(place.lines_of("log").back(), "end 1-16");
}

// What came before its checkpoint had company.
TEST(SideBySide, WhatGoesOnAloneFromACheckpointIsStillNotTimed) {
  const Place place;
  StudyFolder folder = place.create(recipe("17, 100, 101", kTrain));
  EXPECT_EQ(place.run(folder, {.jobs = 3}), SweepEnd::finished);
  const PointState point = place.state().points[0];
  ASSERT_EQ(point.runs.size(), 1u);
  EXPECT_TRUE(point.runs[0].shared);
  EXPECT_FALSE(point.runs[0].timed);
  EXPECT_TRUE(place.calls().back().starts_with("train --resume"));
}

TEST(SideBySide, AloneItIsAResult) {
  const Place place;
  StudyFolder folder = place.create(recipe("16", kTrain));
  EXPECT_EQ(place.run(folder), SweepEnd::finished);
  EXPECT_EQ(place.state().points[0].failures.at(0).why, "does not fit");
}

TEST(SideBySide, FailuresBesideOthersCostTheirPointAlone) {
  const Place place;
  StudyFolder folder = place.create(recipe(
      "11, 13, 14, 15, 100, 2", std::string(kTrain) + "deadline_s = 1.0\n"));
  EXPECT_EQ(place.run(folder, {.jobs = 6}), SweepEnd::finished);
  std::map<std::int64_t, std::string> whys;
  for (const PointState& p : place.state().points)
    whys[p.axes["seed"]] = p.failures.empty() ? "" : p.failures[0].why;
  EXPECT_EQ(whys, (std::map<std::int64_t, std::string>{{2, ""},
                                                       {11, "deadline"},
                                                       {13, "crashed"},
                                                       {14, "lost rank"},
                                                       {15, "store"},
                                                       {100, ""}}));
}

TEST(SideBySide, WhenTimeIsOverThoseAtWorkAreWaitedForAndNothingIsRepeated) {
  const Place place;
  {
    StudyFolder folder =
        place.create(recipe("100, 101, 102, 103, 104, 105", kTrain));
    EXPECT_EQ(place.run(folder, {.max_minutes = 0.4 / 60, .jobs = 2}),
              SweepEnd::out_of_time);
    EXPECT_GE(count_of(place, "started"), 1u);
    EXPECT_LE(count_of(place, "started"), 4u);
    EXPECT_EQ(count_of(place, "done"), count_of(place, "started"));
  }
  StudyFolder folder = StudyFolder::open(place.study);
  EXPECT_EQ(place.run(folder, {.jobs = 2}), SweepEnd::finished);
  EXPECT_EQ(place.calls().size(), 6u);
}

TEST(SideBySide, CtrlCReachesEveryRunAndEachIsWaitedFor) {
  const Place place;
  {
    StudyFolder folder = place.create(recipe("200, 201, 202, 203", kTrain));
    EXPECT_EQ(interrupt(place, folder, 3), SweepEnd::interrupted);
  }
  auto log = place.lines_of("log");
  ASSERT_GE(log.size(), 3u);
  log.erase(log.begin(), log.begin() + 3);
  EXPECT_THAT(log,
              UnorderedElementsAre("told 1-200", "told 1-201", "told 1-202"));
  EXPECT_EQ(count_of(place, "done") + count_of(place, "failed"), 0u);
  let_go(place);
  StudyFolder folder = StudyFolder::open(place.study);
  EXPECT_EQ(place.run(folder, {.jobs = 3}), SweepEnd::finished);
  EXPECT_EQ(count_of(place, "done"), 4u);
}

TEST(SideBySide, ARunThatWentOnFromCompanyIsNotTimedAndOneThatBeganAnewIs) {
  const Place place;
  {
    StudyFolder folder = place.create(recipe("200, 210", kTrain));
    EXPECT_EQ(interrupt(place, folder, 2), SweepEnd::interrupted);
  }
  let_go(place);
  StudyFolder folder = StudyFolder::open(place.study);
  EXPECT_EQ(place.run(folder), SweepEnd::finished);
  const StudyState state = place.state();
  EXPECT_TRUE(state.points[0].runs.at(0).timed);
  EXPECT_FALSE(state.points[1].runs.at(0).timed);  // from its checkpoint
  EXPECT_TRUE(state.points[1].runs.at(0).shared);
}

TEST(SideBySide, ARunThatEndedInCompanyWithoutItsLineStaysUntimed) {
  const Place place;
  {
    StudyFolder folder = place.create(recipe("1, 2", kTrain));
    place.run(folder, {.jobs = 2});
  }
  const fs::path ledger = place.study / "ledger.jsonl";
  const std::string text = read_file(ledger, Fault::store);
  const std::size_t cut = text.find("\"done\"");
  write_file(ledger, text.substr(0, text.rfind('\n', cut) + 1));
  StudyFolder folder = StudyFolder::open(place.study);
  place.run(folder);
  EXPECT_EQ(place.calls().size(), 2u);
  for (const PointState& p : place.state().points)
    EXPECT_TRUE(p.runs.at(0).shared);
}

// One sweep in a process of its own, killed after `seconds`.
bool killed_after(const Place& place, double seconds) {
  const pid_t sweeper = ::fork();
  if (sweeper == 0) {
    StudyFolder folder = StudyFolder::open(place.study);
    place.run(folder, {.jobs = 3});
    ::_exit(0);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ::kill(sweeper, SIGKILL);
  int status = 0;
  ::waitpid(sweeper, &status, 0);
  return WIFSIGNALED(status);
}

TEST(SideBySide, KilledAtAnyMomentItRunsNothingTwice) {
  const Place place;
  {
    StudyFolder made = place.create(
        recipe("100, 101, 102, 103, 104, 105, 106, 107, 108, 109", kTrain));
  }
  std::size_t kills = 0;
  for (const double seconds : {0.4, 0.55, 0.45, 0.5}) {
    if (!killed_after(place, seconds)) break;
    ++kills;
    // Its runs went with it: none ends later.
    const std::size_t lines = place.lines_of("log").size();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(place.lines_of("log").size(), lines);
  }
  EXPECT_GT(kills, 0u);
  StudyFolder folder = StudyFolder::open(place.study);
  EXPECT_EQ(place.run(folder, {.jobs = 3}), SweepEnd::finished);
  EXPECT_LE(place.calls().size(), 10 + 3 * kills);
  EXPECT_TRUE(place.lines_of("twice").empty());
  const StudyState state = place.state();
  EXPECT_EQ(state.points.size(), 10u);
  for (const PointState& p : state.points) EXPECT_EQ(p.runs.size(), 1u) << p.id;
}

}  // namespace
}  // namespace lockstep
