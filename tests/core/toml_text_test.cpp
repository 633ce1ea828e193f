// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/toml_text.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr auto kText = R"(top = 1
[run]
list = [2.5,
        "two"]
[[link]]
on = true
)";

TEST(TomlText, BecomesJson) {
  EXPECT_EQ(parse_toml(kText, "a.toml").json,
            Json::parse(R"({"link": [{"on": true}],
                            "run": {"list": [2.5, "two"]}, "top": 1})"));
}

TEST(TomlText, KnowsWhereEveryKeyAndListItemStands) {
  const TomlText text = parse_toml(kText, "a.toml");
  EXPECT_EQ(text.place("top"), "a.toml:1:1");
  EXPECT_EQ(text.place("run.list"), "a.toml:3:1");
  EXPECT_EQ(text.place("run.list.1"), "a.toml:4:9");
  EXPECT_EQ(text.place("link.0.on"), "a.toml:6:1");
  EXPECT_EQ(text.place("run.other"), "a.toml");
}

std::string toml_fault(const std::string& text) {
  try {
    parse_toml(text, "a.toml");
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    return e.what();
  }
  return "none";
}

TEST(TomlText, FaultsCarryFileLineAndColumn) {
  EXPECT_EQ(toml_fault("a = 1\n\nday = 1979-05-27\n"),
            "a.toml:3:1: day: is a date or a time");
  EXPECT_EQ(toml_fault("a = \n").substr(0, 9), "a.toml:1:");
  EXPECT_EQ(toml_fault(std::string("a\0b", 3)),
            "a.toml: is a binary file, not TOML");
}

}  // namespace
}  // namespace lockstep
