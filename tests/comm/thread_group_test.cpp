// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/thread_group.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "tests/comm/collective_cases.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

class ThreadGroupOf : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ThreadGroupOf, EveryCollectiveEqualsTheSerialReference) {
  const auto [ranks, helpers] = GetParam();
  run_ranks(ranks, {.deadline_s = 30, .helpers = helpers}, [](Group& g) {
    cases::check_all(g, {0, 1, 2, 31, 257});
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadGroupOf,
                         ::testing::Values(std::pair{1, 0}, std::pair{2, 0},
                                           std::pair{2, 1}, std::pair{3, 1},
                                           std::pair{4, 2}, std::pair{5, 0},
                                           std::pair{8, 1}));

// Several chunks and a last one that is not full.
TEST(ThreadGroup, LargeTensorsEqualTheSerialReference) {
  for (const int helpers : {0, 1})
    run_ranks(3, {.deadline_s = 30, .helpers = helpers},
              [](Group& g) { cases::check_all(g, {70'001}); });
}

TEST(ThreadGroup, ManyTransfersMayBeUnderWayAndAreWaitedForInAnyOrder) {
  run_ranks(3, {.deadline_s = 30, .helpers = 1},
            [](Group& g) { cases::check_many(g); });
}

TEST(ThreadGroup, ATransferMovesWhileTheRanksDoSomethingElse) {
  run_ranks(2, {.deadline_s = 30, .helpers = 1}, [](Group& g) {
    const at::Tensor t = at::ones({1'000'000});
    const TransferHandle handle =
        g.start({.op = Collective::all_reduce, .tensor = t});
    std::this_thread::sleep_for(500ms);
    const double back = now_s();
    g.wait(handle);
    EXPECT_LT(g.times(handle).end_s, back);
    EXPECT_EQ(t.sum().item<float>(), 2e6F);
  });
}

TEST(ThreadGroup, ATransferBeginsWhenTheLastRankHasStartedIt) {
  std::atomic<double> late = 0;
  run_ranks(2, {.deadline_s = 30}, [&](Group& g) {
    const at::Tensor t = at::ones({1'000'000});
    if (g.rank() == 1) {
      std::this_thread::sleep_for(50ms);
      late = now_s();
    }
    const TransferHandle handle =
        g.start({.op = Collective::all_reduce, .tensor = t});
    g.wait(handle);
    const TransferTimes times = g.times(handle);
    EXPECT_GE(times.begin_s, late);
    EXPECT_GE(times.end_s, times.begin_s);
    if (g.rank() == 0) {
      EXPECT_LT(times.issued_s, late - 0.04);
    }
  });
}

TEST(ThreadGroup, SumsAreTheSameToTheBitInEveryRun) {
  const auto total = [](int helpers) {
    auto out = std::make_shared<at::Tensor>();
    run_ranks(4, {.deadline_s = 30, .helpers = helpers}, [out](Group& g) {
      const at::Tensor t = cases::values(200'000, at::kFloat, g.rank());
      g.run({.op = Collective::all_reduce, .tensor = t});
      if (g.rank() == 3) *out = t;
    });
    return *out;
  };
  const at::Tensor first = total(0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(at::equal(first, total(i % 3)));
}

// What the others saw, for ranks that must all be told.
struct Seen {
  std::array<std::string, 8> text;
  std::array<double, 8> after_s{};
};

std::shared_ptr<Seen> run_and_see(int ranks, double deadline_s,
                                  const std::function<void(Group&)>& body) {
  auto seen = std::make_shared<Seen>();
  try {
    run_ranks(ranks, {.deadline_s = deadline_s}, [seen, body](Group& g) {
      const auto me = static_cast<std::size_t>(g.rank());
      const double begin = now_s();
      try {
        body(g);
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::peer);
        seen->text[me] = error.what();
        seen->after_s[me] = now_s() - begin;
        throw;
      }
    });
  } catch (const Error& error) {
    seen->text[7] = error.what();
  }
  return seen;
}

TEST(ThreadGroup, AFailingRankIsNamedToAllOthersAtOnce) {
  const auto seen = run_and_see(4, 30, [](Group& g) {
    if (g.rank() == 2) throw std::runtime_error("out of paper");
    g.run({.op = Collective::all_reduce, .tensor = at::ones({100'000})});
  });
  for (const std::size_t r : {0U, 1U, 3U, 7U}) {
    EXPECT_EQ(seen->text[r], "rank 2: failed: out of paper");
    EXPECT_LT(seen->after_s[r], 5);
  }
}

TEST(ThreadGroup, AnErrorOfARankIsThrownAsItIs) {
  try {
    run_ranks(3, {.deadline_s = 30}, [](Group& g) {
      if (g.rank() == 1) throw Error(Fault::data, "clip.wav", "is not a sound");
      g.run({.op = Collective::barrier});
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
    EXPECT_STREQ(error.what(), "clip.wav: is not a sound");
  }
}

TEST(ThreadGroup, ASilentRankIsLeftBehindWithinTheDeadline) {
  std::promise<void> end;
  const auto ended =
      std::make_shared<std::shared_future<void>>(end.get_future().share());
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  const double begin = now_s();
  const auto seen = run_and_see(3, 0.3, [ended, gone](Group& g) {
    if (g.rank() == 1) {
      ended->wait();
      *gone = true;
      return;
    }
    g.run({.op = Collective::all_reduce, .tensor = at::ones({100'000})});
  });
  EXPECT_LT(now_s() - begin, 5);
  EXPECT_FALSE(*gone);
  for (const std::size_t r : {0U, 2U, 7U})
    EXPECT_EQ(seen->text[r],
              "rank 1: no answer for 0.3 s in all_reduce of 100000 fp32 "
              "(number 0)");
  EXPECT_GE(seen->after_s[0], 0.29);
  end.set_value();  // or the thread would outlive the program
  while (!*gone) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
}

TEST(ThreadGroup, ARankThatEndsEarlyIsNamed) {
  const auto seen = run_and_see(2, 30, [](Group& g) {
    if (g.rank() == 0) return;
    g.run({.op = Collective::barrier});
  });
  EXPECT_EQ(seen->text[1],
            "rank 0: ended before the others' barrier (number 0)");
}

TEST(ThreadGroup, RanksThatCallDifferentThingsAreRefused) {
  try {
    run_ranks(2, {.deadline_s = 30}, [](Group& g) {
      g.run({.op = Collective::all_reduce, .tensor = at::ones({4 + g.rank()})});
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::internal);
    EXPECT_NE(std::string(error.what()).find("all_reduce of 5 fp32"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("all_reduce of 4 fp32"),
              std::string::npos);
  }
}

TEST(ThreadGroup, BadTensorsAreRefused) {
  run_ranks(1, {}, [](Group& g) {
    const auto refused = [&](const Call& call) {
      EXPECT_THROW(g.start(call), Error);
    };
    // A refused call breaks the group, so each has its own.
    refused({.op = Collective::all_reduce});
  });
  const std::vector<Call> bad = {
      {.op = Collective::all_reduce, .tensor = at::ones({2, 2}).t()},
      {.op = Collective::all_reduce, .tensor = at::ones({2}, at::kDouble)},
      {.op = Collective::reduce, .tensor = at::ones({2}), .root = 1},
      {.op = Collective::all_gather, .tensor = at::ones({2})},
      {.op = Collective::reduce_scatter,
       .tensor = at::ones({2}),
       .input = at::ones({2}, at::kLong)},
      {.op = Collective::scatter,
       .tensor = at::ones({2}),
       .input = at::ones({3}),
       .shares = {3}},
      {.op = Collective::all_reduce, .tensor = at::ones({2}), .shares = {2}}};
  for (const Call& call : bad)
    EXPECT_THROW(run_ranks(1, {}, [&](Group& g) { g.start(call); }), Error);
}

TEST(ThreadGroup, EachRankHasItsShareOfTheCores) {
  run_ranks(2, {.threads = 1},
            [](Group&) { EXPECT_EQ(at::get_num_threads(), 1); });
}

}  // namespace
}  // namespace lockstep
