// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/agree.h"

#include <gtest/gtest.h>

#include "lockstep/comm/thread_group.h"

namespace lockstep {
namespace {

TEST(Agree, EveryRankGetsRankZerosAnswer) {
  run_ranks(3, {.deadline_s = 30}, [](Group& g) {
    EXPECT_TRUE(agree(g, g.rank() == 0));
    EXPECT_FALSE(agree(g, g.rank() != 0));
    EXPECT_EQ(agree(g, std::int64_t{7} + g.rank()), 7);
    EXPECT_EQ(agree(g, 0.1 + g.rank()), 0.1);
  });
}

TEST(Agree, OneRankThatSaysYesIsHeardByAll) {
  run_ranks(3, {.deadline_s = 30}, [](Group& g) {
    EXPECT_TRUE(any_of(g, g.rank() == 2));
    EXPECT_FALSE(any_of(g, false));
  });
}

TEST(Agree, ThreadsReadOneClock) {
  run_ranks(2, {.deadline_s = 30}, [](Group& g) {
    EXPECT_EQ(align_clocks(g).offset_s, 0);
    EXPECT_EQ(align_clocks(g).error_s, 0);
  });
}

}  // namespace
}  // namespace lockstep
