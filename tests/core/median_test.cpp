// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/median.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

const double kNan = std::nan("");

TEST(Median, OfAnOddNumberIsTheMiddleOne) { EXPECT_EQ(median({9, 1, 5}), 5); }

TEST(Median, OfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({9, 1, 5, 2}), 3.5);
}

TEST(Median, LeavesOutWhatWasNotMeasured) {
  EXPECT_EQ(median({kNan, 4, HUGE_VAL, 2, 3}), 3);
}

TEST(Median, OfNothingIsNoNumber) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median({kNan, kNan})));
}

}  // namespace
}  // namespace lockstep
