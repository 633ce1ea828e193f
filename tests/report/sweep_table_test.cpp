// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/sweep_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

PointState trained_point(const char* id, bool timed, bool shared) {
  PointState p{.id = id, .mode = "train", .why = {}};
  p.runs.push_back({.run = {},
                    .host = {},
                    .timed = timed,
                    .shared = shared,
                    .result = {{"median_step_s", 0.123},
                               {"epoch_s", 45.6},
                               {"final_val_accuracy", 0.75}}});
  return p;
}

std::string row_of(PointState point) {
  StudyState state;
  state.points.push_back(std::move(point));
  return to_csv(sweep_table(state));
}

TEST(SweepTable, ARunBesideOthersShowsItsAccuracyAndNoTime) {
  const std::string alone = row_of(trained_point("a", true, false));
  EXPECT_THAT(alone, HasSubstr("measured"));
  EXPECT_THAT(alone, HasSubstr("45.6"));
  const std::string beside = row_of(trained_point("b", false, true));
  EXPECT_THAT(beside, HasSubstr("ran, not timed"));
  EXPECT_THAT(beside, HasSubstr("ran beside others: not timed"));
  EXPECT_THAT(beside, HasSubstr("0.75"));
  EXPECT_THAT(beside, Not(HasSubstr("45.6")));
  EXPECT_THAT(beside, Not(HasSubstr("0.123")));
}

}  // namespace
}  // namespace lockstep
