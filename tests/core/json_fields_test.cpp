// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/json_fields.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

const Json kRecord = {
    {"step_s", 0.25}, {"ranks", 4}, {"name", "a"}, {"lost", nullptr}};

TEST(JsonFields, AreReadAsWhatTheyAre) {
  EXPECT_EQ(number_in(kRecord, "step_s"), 0.25);
  EXPECT_EQ(whole_in(kRecord, "ranks"), 4);
  EXPECT_EQ(text_in(kRecord, "name"), "a");
}

TEST(JsonFields, ThatAreMissingNullOrOfAnotherTypeSaySo) {
  for (const char* field : {"lost", "missing", "name"}) {
    EXPECT_TRUE(std::isnan(number_in(kRecord, field))) << field;
    EXPECT_EQ(whole_in(kRecord, field), 0) << field;
  }
  for (const char* field : {"lost", "missing", "ranks"})
    EXPECT_EQ(text_in(kRecord, field), "") << field;
}

TEST(JsonFields, WriteNullForWhatWasNotMeasured) {
  EXPECT_EQ(number_or_null(1.5), Json(1.5));
  EXPECT_TRUE(number_or_null(std::nan("")).is_null());
  EXPECT_TRUE(number_or_null(HUGE_VAL).is_null());
}

}  // namespace
}  // namespace lockstep
