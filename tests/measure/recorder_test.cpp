// SPDX-License-Identifier: Apache-2.0
#include "lockstep/measure/recorder.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// A clock that moves only when told to.
struct FakeTime {
  double now = 0;
  std::vector<double> marks = {};
  int forgotten = 0;

  TimeSource source() {
    return {.mark =
                [this] {
                  marks.push_back(now);
                  return static_cast<std::int64_t>(marks.size() - 1);
                },
            .seconds =
                [this](std::int64_t m) {
                  return marks[static_cast<std::size_t>(m)];
                },
            .forget =
                [this] {
                  marks.clear();
                  ++forgotten;
                }};
  }
};

void one_step(Recorder& recorder, FakeTime& time, std::int64_t step) {
  recorder.begin_step(step, 0);
  time.now += 1, recorder.cut(Span::data);
  time.now += 2, recorder.cut(Span::forward);
  time.now += 4, recorder.cut(Span::backward);
  time.now += 8, recorder.cut(Span::forward);
  time.now += 16, recorder.cut(Span::backward);
  time.now += 32, recorder.cut(Span::optim);
  recorder.end_step(10);
}

TEST(Recorder, PiecesOfAStepAddUpToIt) {
  FakeTime time{.now = 100};
  Recorder recorder(3, time.source(), {});
  recorder.set_origin(90);
  one_step(recorder, time, 7);
  const auto samples = recorder.collect(std::vector{0.5});
  ASSERT_EQ(samples.steps.size(), 1U);
  const StepSample& s = samples.steps[0];
  EXPECT_EQ(s.step, 7);
  EXPECT_EQ(s.rank, 3);
  EXPECT_EQ(s.samples, 10);
  EXPECT_EQ(s.begin_s, 10);
  EXPECT_EQ(s.data_s, 1);
  EXPECT_EQ(s.forward_s, 10);
  EXPECT_EQ(s.backward_s, 20);
  EXPECT_EQ(s.optim_s, 32);
  EXPECT_EQ(s.step_s, 63);
  EXPECT_EQ(s.loss, 0.5);
  EXPECT_EQ(time.forgotten, 1);
}

TEST(Recorder, StepsBetweenHaveTheirWholeTimeOnly) {
  FakeTime time;
  Recorder recorder(0, time.source(), {.every = 2});
  for (std::int64_t i = 0; i < 4; ++i) one_step(recorder, time, i);
  const auto samples = recorder.collect(std::vector<double>(4));
  EXPECT_EQ(samples.steps[0].forward_s, 10);
  EXPECT_TRUE(std::isnan(samples.steps[1].forward_s));
  EXPECT_EQ(samples.steps[1].step_s, 63);
  EXPECT_EQ(samples.steps[2].forward_s, 10);
}

TEST(Recorder, InAStreamAStepBeginsWhereTheLastOneEnded) {
  FakeTime time;
  TimeSource source = time.source();
  source.in_stream = true;
  Recorder recorder(0, source, {.every = 0});
  EXPECT_EQ(recorder.every(), 10);
  EXPECT_TRUE(recorder.times_some());
  for (std::int64_t i = 0; i < 21; ++i) one_step(recorder, time, i);
  // Where the first began, three steps in six pieces, 18 whole ones.
  EXPECT_EQ(time.marks.size(), 1U + 3 * 6 + 18);
  const auto samples = recorder.collect(std::vector<double>(21));
  for (const StepSample& s : samples.steps) {
    EXPECT_EQ(s.begin_s, 63.0 * static_cast<double>(s.step));
    EXPECT_EQ(s.step_s, 63);
    EXPECT_EQ(std::isnan(s.forward_s), s.step % 10 != 0);
  }
  // After a pause the next one begins anew.
  time.now += 1000;
  one_step(recorder, time, 21);
  EXPECT_EQ(recorder.collect(std::vector{0.0}).steps[0].step_s, 63);
}

TEST(Recorder, OnAClockThePartsOfEveryStepAreTimedUnlessAskedOtherwise) {
  FakeTime time;
  EXPECT_EQ(Recorder(0, time.source(), {.every = 0}).every(), 1);
  EXPECT_FALSE(Recorder(0, time.source(), {.every = 0}).times_some());
  EXPECT_EQ(Recorder(0, time.source(), {.every = 3}).every(), 3);
}

TEST(Recorder, CommunicationIsTheUnionOfItsMessages) {
  FakeTime time;
  Recorder recorder(0, time.source(), {});
  recorder.begin_step(0, 0);
  for (const auto& [begin, end] :
       {std::pair(1.0, 4.0), std::pair(3.0, 5.0), std::pair(8.0, 9.0)}) {
    CommSample m;
    m.begin_s = begin, m.end_s = end;
    recorder.message(m);
  }
  time.now = 10, recorder.cut(Span::backward);
  recorder.end_step(1);
  const auto samples = recorder.collect(std::vector{0.0});
  EXPECT_EQ(samples.steps[0].comm_s, 5);
  EXPECT_EQ(samples.messages.size(), 3U);
}

TEST(Recorder, WaitingWhileNothingMovesIsForALateRank) {
  FakeTime time;
  Recorder recorder(0, time.source(), {});
  recorder.begin_step(0, 0);
  time.now = 10, recorder.cut(Span::backward);
  // Begins in backward, pauses from 12 to 15, ends before the waiting does.
  for (const auto& [begin, end] : {std::pair(8.0, 12.0), std::pair(15.0, 19.0)})
    recorder.message({},
                     [=](CommSample& m) { m.begin_s = begin, m.end_s = end; });
  time.now = 20, recorder.cut(Span::exposed_comm);
  recorder.end_step(1);
  const auto samples = recorder.collect(std::vector{0.0});
  EXPECT_EQ(samples.steps[0].comm_s, 8);
  EXPECT_EQ(samples.steps[0].exposed_comm_s, 6);
  EXPECT_EQ(samples.steps[0].wait_s, 4);
  EXPECT_EQ(samples.messages[1].end_s, 19);
}

TEST(Recorder, OffRecordsNothingAndAsksNoClock) {
  FakeTime time;
  Recorder recorder(0, time.source(), {.record = false});
  one_step(recorder, time, 0);
  EXPECT_TRUE(time.marks.empty());
  EXPECT_TRUE(recorder.collect({}).steps.empty());
}

TEST(Recorder, DataParallelStepsFillBothColumns) {
  FakeTime time;
  Recorder recorder(0, time.source(), {});
  recorder.begin_step(0, 0);
  CommSample m;
  m.begin_s = 0.75, m.end_s = 1;
  recorder.message(m);
  m.begin_s = 4, m.end_s = 7;
  recorder.message(m);
  time.now += 1, recorder.cut(Span::dp_scatter);
  time.now += 2, recorder.cut(Span::dp_forward);
  time.now += 4, recorder.cut(Span::dp_reduce);
  recorder.end_step(1);
  const StepSample s = recorder.collect(std::vector{0.0}).steps[0];
  EXPECT_EQ(s.dp_s[0], 1);
  EXPECT_EQ(s.dp_s[2], 2);
  EXPECT_EQ(s.dp_s[7], 4);
  EXPECT_EQ(s.forward_s, 2);
  // Waiting while nothing moves is for a late rank.
  EXPECT_EQ(s.exposed_comm_s, 3.25);
  EXPECT_EQ(s.wait_s, 1.75);
  EXPECT_EQ(s.comm_s, 3.25);
}

}  // namespace
}  // namespace lockstep
