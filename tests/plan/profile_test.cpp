// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

Profile two_layers() {
  Profile p;
  p.model = "two layers", p.device = "RTX 3090", p.software = "by hand";
  p.batches = {16, 64};
  p.layers = {{"a", "Linear", 4000, 4000, {5e-4, 18e-4}, {1e-3, 36e-4}},
              {"b", "Linear", 40, 40, {1e-4, 2e-4}, {2e-4, 3e-4}}};
  p.params = {{"a.weight", 1'000'000, 0}, {"b.weight", 10'000, 1}};
  p.gradient_order = {1, 0};
  p.step_s = {21e-4, 62e-4};
  p.optimizer_s = 2e-4;
  p.memory_bytes = {1e9, 2e9};
  return p;
}

std::string fault_of(const Json& json) {
  try {
    profile_from_json(json, "p.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    return e.what();
  }
  return "accepted";
}

TEST(Profile, WhatIsWrittenIsReadBack) {
  const Json json = to_json(two_layers());
  EXPECT_EQ(to_json(profile_from_json(json, "p.json")), json);
  const auto path =
      std::filesystem::temp_directory_path() / "lockstep_profile_test.json";
  save_profile(path, two_layers());
  EXPECT_EQ(to_json(load_profile(path)), json);
  std::filesystem::remove(path);
}

TEST(Profile, TheLossIsOptional) {
  const Json old = to_json(two_layers());
  EXPECT_FALSE(old.contains("loss"));
  Json json = old;
  json["loss"] = {{"forward_s", {1e-4, 2e-4}}, {"backward_s", {3e-4, 4e-4}}};
  EXPECT_EQ(to_json(profile_from_json(json, "p.json")), json);
  json["loss"]["backward_s"] = {1e-4};
  EXPECT_THAT(fault_of(json),
              HasSubstr("loss, backward_s: 1 times for 2 batch sizes"));
}

TEST(Profile, RowsOfParametersAreOptional) {
  Json json = to_json(two_layers());
  EXPECT_FALSE(json["params"][0].contains("rows"));
  const std::int64_t numel = json["params"][0]["numel"];
  json["params"][0]["rows"] = numel;
  EXPECT_EQ(to_json(profile_from_json(json, "p.json")), json);
  json["params"][0]["rows"] = numel + 1;
  EXPECT_THAT(fault_of(json), HasSubstr("rows of"));
}

TEST(Profile, MistakesAreNamed) {
  const auto changed = [](auto change) {
    Json json = to_json(two_layers());
    change(json);
    return fault_of(json);
  };
  EXPECT_THAT(changed([](Json& j) { j["kind"] = "lunch"; }),
              HasSubstr("is not a profile"));
  EXPECT_THAT(changed([](Json& j) { j["schema"] = 2; }),
              HasSubstr("schema 2, this program reads 1"));
  EXPECT_THAT(changed([](Json& j) { j["batches"] = {16}; }),
              HasSubstr("two or more batch sizes"));
  EXPECT_THAT(changed([](Json& j) {
                j["batches"] = {64, 16};
              }),
              HasSubstr("must rise"));
  EXPECT_THAT(changed([](Json& j) { j["layers"][0]["forward_s"] = {1}; }),
              HasSubstr("layer a, forward_s: 1 times for 2 batch sizes"));
  EXPECT_THAT(changed([](Json& j) { j["layers"][1]["backward_s"][0] = -1; }),
              HasSubstr("-1 s is not possible"));
  EXPECT_THAT(changed([](Json& j) { j["params"][0]["layer"] = 7; }),
              HasSubstr("belongs to no layer"));
  EXPECT_THAT(changed([](Json& j) {
                j["gradient_order"] = {0, 0};
              }),
              HasSubstr("does not name parameter 1 once"));
  EXPECT_THAT(changed([](Json& j) { j["precison"] = "fp32"; }),
              HasSubstr("precison: there is no such field"));
  EXPECT_THAT(changed([](Json& j) { j.erase("step_s"); }),
              HasSubstr("step_s: is missing"));
  EXPECT_THAT(changed([](Json& j) { j["jitter"] = "much"; }),
              HasSubstr("jitter: is not a number"));
  EXPECT_THAT(fault_of(Json::array()), HasSubstr("is not a table of fields"));
}

}  // namespace
}  // namespace lockstep
