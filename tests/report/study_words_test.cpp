// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/study_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StudyPoint point(std::int64_t ranks, std::int64_t batch, double epoch_s,
                 Origin origin = Origin::measured) {
  StudyPoint p;
  p.model = "m", p.strategy = ranks > 1 ? "ddp" : "single", p.origin = origin;
  p.ranks = ranks, p.global_batch = batch, p.per_rank = batch / ranks;
  p.epoch_s = epoch_s, p.step = single_value(1e-3);
  p.best_val_accuracy = std::nan("");
  return p;
}

TEST(StudyWords, SharesOfABatchThatDoesNotDivideAreNamed) {
  EXPECT_EQ(place(point(1, 30, 1)), "1 device, batch 30");
  EXPECT_EQ(place(point(2, 30, 1)), "2 devices, batch 15 on each (30 in all)");
  EXPECT_EQ(place(point(4, 30, 1)),
            "4 devices, batch 30 in all (7 or 8 on each)");
}

TEST(StudyWords, AnIntervalWhoseEndsLookAlikeSaysHowNarrowItIs) {
  EXPECT_EQ(interval_words(0.387, 0.389, 0.391), "387 ms to 391 ms");
  EXPECT_EQ(interval_words(0.38699, 0.387, 0.38708), "within 0.02 % of it");
}

// 1 x 512 and 4 x 512 learn differently: an epoch of one is no epoch of the
// other.
TEST(StudyWords, APredictionIsComparedAtTheSameGlobalBatchFirst) {
  Study study;
  study.points = {point(1, 512, 4.0), point(4, 512, 1.6, Origin::predicted),
                  point(4, 2048, 1.0, Origin::predicted)};
  const std::string same = what_would_change(study, study.points[0]);
  EXPECT_THAT(same, HasSubstr("4 devices, batch 128 on each (512 in all)"));
  EXPECT_THAT(same, HasSubstr("2.50 times as fast at the same global batch"));
  EXPECT_THAT(same, Not(HasSubstr("4.00 times")));
  study.points.erase(study.points.begin() + 1);
  EXPECT_THAT(what_would_change(study, study.points[0]),
              HasSubstr("4.00 times as fast at the same batch a device; its "
                        "global batch is 4 times as large"));
}

}  // namespace
}  // namespace lockstep
