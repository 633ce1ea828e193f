// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string csv_fault(std::string_view text) {
  try {
    parse_csv(text, "t.csv", Fault::data);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Csv, ReadsQuotesDoubledQuotesCrlfAndAMark) {
  const Csv csv = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n\"x, \"\"y\"\"\",2\r\n\r\n,\"line\nbreak\"\r\nlast,5",
      "t.csv", Fault::data);
  EXPECT_THAT(csv.header, ElementsAre("a", "b"));
  ASSERT_EQ(csv.rows.size(), 3u);
  EXPECT_THAT(csv.rows[0].cells, ElementsAre("x, \"y\"", "2"));
  EXPECT_THAT(csv.rows[1].cells, ElementsAre("", "line\nbreak"));
  EXPECT_THAT(csv.rows[2].cells, ElementsAre("last", "5"));
  EXPECT_EQ(csv.place(csv.rows[1]), "t.csv:4");
  EXPECT_EQ(csv.place(csv.rows[2]), "t.csv:6");
}

TEST(Csv, SaysTheLineOfARowThatIsTooShort) {
  EXPECT_EQ(csv_fault("a,b\n1,2\n3\n"),
            "t.csv:3: has 1 cells where the header has 2");
}

TEST(Csv, SaysWhereAQuoteWasOpened) {
  EXPECT_EQ(csv_fault("a,b\n1,\"2\n3,4\n"),
            "t.csv:2: a quote is opened and never closed");
}

TEST(Csv, RefusesBinaryAndEmptyFiles) {
  EXPECT_THAT(csv_fault(std::string_view("a\0b", 3)), HasSubstr("binary"));
  EXPECT_THAT(csv_fault("\n\n"), HasSubstr("is empty"));
}

TEST(Csv, AMissingColumnNamesTheOnesThereAre) {
  const Csv csv = parse_csv("a,b\n", "t.csv", Fault::data);
  try {
    csv.required("gpus", Fault::config);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "t.csv:1: there is no column 'gpus'");
    EXPECT_EQ(e.hint(), "the columns are: a, b");
  }
}

TEST(Csv, AWrongSeparatorIsNamed) {
  const Csv csv = parse_csv("a;gpus\n", "t.csv", Fault::data);
  try {
    csv.required("gpus", Fault::config);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.hint(), HasSubstr("commas"));
  }
}

}  // namespace
}  // namespace lockstep
