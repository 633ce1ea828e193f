// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/text.h"

#include <gtest/gtest.h>

#include "lockstep/core/table.h"
#include "lockstep/core/units.h"

namespace lockstep {
namespace {

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("12"), 12);
  EXPECT_FALSE(parse_number<std::int64_t>("12 "));
  EXPECT_FALSE(parse_number<std::int64_t>("1e3"));
  EXPECT_FALSE(parse_number<std::int64_t>(""));
  EXPECT_EQ(parse_number<double>("1e3"), 1000);
}

TEST(Text, TheNearestNameIsFoundOnlyWhenItIsNear) {
  const std::vector<std::string> names = {"bucket_bytes", "kind", "ranks"};
  EXPECT_EQ(nearest("bukcet_bytes", names), "bucket_bytes");
  EXPECT_EQ(nearest("Kind", names), "kind");
  EXPECT_EQ(nearest("temperature", names), "");
}

TEST(Units, NumbersGetAFittingUnit) {
  EXPECT_EQ(format_seconds(0.00124), "1.24 ms");
  EXPECT_EQ(format_seconds(200), "3 min 20 s");
  EXPECT_EQ(format_bytes(48'408'880), "48.4 MB");
  EXPECT_EQ(format_bytes(999'999), "1.00 MB");
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_rate(4.1e9), "4.10 GB/s");
  EXPECT_EQ(format_count(12'102'220), "12,102,220");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_percent(0.381), "38.1 %");
}

Table small_table() {
  Table table{.verb = "test",
              .columns = {{.name = "name"},
                          {.name = "time_s",
                           .title = "time",
                           .unit = "(ms)",
                           .show = scaled(1e3, 1)}}};
  table.add({std::string("a,\"b\""), 0.0015});
  table.add({std::string("c"), Cell()});
  return table;
}

TEST(Table, TextHasUnitsAndAlignedColumns) {
  EXPECT_EQ(to_text(small_table()),
            "name   time\n"
            "       (ms)\n"
            "a,\"b\"   1.5\n"
            "c         -\n");
}

TEST(Table, CsvAndJsonKeepNamesAndNumbers) {
  EXPECT_EQ(to_csv(small_table()), "name,time_s\n\"a,\"\"b\"\"\",0.0015\nc,\n");
  const Json json = to_json(small_table());
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("verb"), "test");
  EXPECT_EQ(json.at("rows").at(0).at("time_s"), 0.0015);
  EXPECT_TRUE(json.at("rows").at(1).at("time_s").is_null());
}

}  // namespace
}  // namespace lockstep
