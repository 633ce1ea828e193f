// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/gather_rows.h"

#include <gtest/gtest.h>

#include "lockstep/comm/thread_group.h"

namespace lockstep {
namespace {

struct Row {
  std::int64_t rank = 0;
  double value = 0;
};

TEST(GatherRows, RankZeroGetsEverybodysInRankOrder) {
  for (const int ranks : {1, 2, 4})
    run_ranks(ranks, {.deadline_s = 30}, [](Group& g) {
      // Rank r brings r rows, so rank 0 brings none.
      std::vector<Row> mine;
      for (int i = 0; i < g.rank(); ++i) mine.push_back({g.rank(), i + 0.5});
      const auto all = gather_rows<Row>(g, std::span(std::as_const(mine)));
      if (g.rank() != 0) {
        EXPECT_TRUE(all.empty());
        return;
      }
      std::size_t at = 0;
      for (int r = 0; r < g.size(); ++r)
        for (int i = 0; i < r; ++i, ++at) {
          ASSERT_LT(at, all.size());
          EXPECT_EQ(all[at].rank, r);
          EXPECT_EQ(all[at].value, i + 0.5);
        }
      EXPECT_EQ(at, all.size());
    });
}

}  // namespace
}  // namespace lockstep
