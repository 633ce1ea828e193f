// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

TEST(Rounds, AShareIsCutIntoPiecesOfTheGivenSize) {
  const Rounds r = rounds_of({.numel = 10}, 2, 8);  // two fp32 a piece
  EXPECT_EQ(r.num, 3);
  EXPECT_EQ(r.piece(0, 1).begin, 5);
  EXPECT_EQ(r.piece(2, 1).begin, 9);
  EXPECT_EQ(r.piece(2, 1).numel(), 1);
}

RC_GTEST_PROP(RoundsProperty, PiecesCoverEveryElementOnce, ()) {
  const int ranks = *rc::gen::inRange(1, 9);
  const std::int64_t numel = *rc::gen::inRange<std::int64_t>(0, 500);
  const std::int64_t piece_bytes = *rc::gen::inRange<std::int64_t>(1, 200);
  const Rounds rounds = rounds_of({.numel = numel}, ranks, piece_bytes);
  std::vector<int> seen(static_cast<std::size_t>(numel), 0);
  for (std::int64_t round = 0; round < rounds.num; ++round)
    for (int rank = 0; rank < ranks; ++rank) {
      const Piece piece = rounds.piece(round, rank);
      RC_ASSERT(piece.numel() >= 0);
      for (std::int64_t i = piece.begin; i < piece.end; ++i)
        ++seen[static_cast<std::size_t>(i)];
    }
  for (const int times : seen) RC_ASSERT(times == 1);
}

}  // namespace
}  // namespace lockstep
