// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/hardware_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGood = R"(schema = 1
name = "two boxes"
nodes = 2
devices_per_node = 4
device = "RTX 3090"
between = "ethernet-25g"
[inside]
kind = "pcie"
p2p = false
latency_s = 14e-6
[[inside.curve]]
ranks = 4
bytes = [8, 1048576, 1073741824]
seconds = [14e-6, 1e-3, 1.1]
)";

std::string fault_of(const std::string& text, std::string* hint = nullptr) {
  try {
    parse_hardware_toml(text, "h.toml");
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    if (hint) *hint = e.hint();
    return e.what();
  }
  return "accepted";
}

std::string with_line(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(HardwareFile, ReadsAClusterWithItsOwnCurve) {
  const Hardware h = parse_hardware_toml(kGood, "h.toml");
  EXPECT_EQ(h.cluster.devices(), 8);
  EXPECT_EQ(h.cluster.device.name, "RTX 3090");
  ASSERT_TRUE(h.cluster.inside && h.cluster.between);
  EXPECT_FALSE(h.cluster.inside->p2p);
  EXPECT_EQ(h.cluster.inside->curves[0].points.size(), 3u);
  EXPECT_EQ(h.cluster.between->name, "ethernet-25g");
}

TEST(HardwareFile, WhatIsWrittenIsReadBack) {
  for (const Cluster& cluster : cluster_presets()) {
    Hardware h{.cluster = cluster};
    h.pairs = {{.a = 0, .b = 1, .path = "NV12", .p2p = true}};
    h.host = {{"cpu", "one"}, {"cores", 2}};
    const Json json = to_json(h);
    const Hardware back = hardware_from_json(
        json, [](const std::string& dotted) { return "h.json: " + dotted; });
    EXPECT_EQ(to_json(back), json) << cluster.name;
  }
}

TEST(HardwareFile, KeepsWhatWasMeasuredOfContention) {
  const std::string line = "latency_s = 14e-6\n";
  const Hardware h = parse_hardware_toml(
      with_line(line, line + "contention = 0.25\n"), "h.toml");
  ASSERT_TRUE(h.cluster.inside->contention);
  EXPECT_EQ(*h.cluster.inside->contention, 0.25);
  EXPECT_EQ(to_json(h)["inside"]["contention"], 0.25);
  EXPECT_FALSE(to_json(h)["between"].contains("contention"));
  EXPECT_THAT(fault_of(with_line(line, line + "contention = -1\n")),
              HasSubstr("contention"));
}

TEST(HardwareFile, AnotherSchemaIsRefusedWithWhatToDo) {
  std::string hint;
  EXPECT_EQ(fault_of(with_line("schema = 1", "schema = 7"), &hint),
            "h.toml:1:1: schema: is a hardware file of schema 7, this program "
            "reads 1");
  EXPECT_THAT(hint, HasSubstr("newer Lockstep"));
  EXPECT_THAT(fault_of(with_line("schema = 1", "")), HasSubstr("no `schema`"));
}

TEST(HardwareFile, MistakesAreNamedWithTheirLine) {
  std::string hint;
  EXPECT_EQ(fault_of(with_line("nodes = 2", "nods = 2"), &hint),
            "h.toml:3:1: nods: there is no such field");
  EXPECT_EQ(hint, "did you mean 'nodes'?");
  EXPECT_EQ(fault_of(with_line("RTX 3090", "RTX 3091"), &hint),
            "h.toml:5:1: device: RTX 3091: there is no such device");
  EXPECT_EQ(hint, "did you mean 'RTX 3090'?");
  EXPECT_THAT(fault_of(with_line("nodes = 2", "nodes = -2")),
              HasSubstr("nodes = -2 is not possible"));
  EXPECT_THAT(fault_of(with_line("nodes = 2", "nodes = 1e99")),
              HasSubstr("nodes: is not a whole number"));
  EXPECT_THAT(fault_of(with_line("nodes = 2", "nodes = \"2\"")),
              HasSubstr("nodes: is not a number"));
  EXPECT_THAT(fault_of(with_line("1e-3", "-1e-3")),
              HasSubstr("seconds = -0.001 is not possible"));
  EXPECT_THAT(fault_of(with_line("1e-3", "nan")),
              HasSubstr("is not a list of numbers"));
  EXPECT_THAT(fault_of(with_line("1e-3, ", "")),
              HasSubstr("3 sizes in `bytes` and 2 times in `seconds`"));
  EXPECT_THAT(fault_of(with_line("between = \"ethernet-25g\"\n", "")),
              HasSubstr("2 nodes and no link between them"));
  EXPECT_THAT(fault_of(with_line("p2p = false", "p2p = 1979-05-27")),
              HasSubstr("is a date or a time"));
  EXPECT_THAT(fault_of("schema = "), HasSubstr("h.toml:1"));
  EXPECT_THAT(fault_of(std::string("a\0b", 3)), HasSubstr("binary"));
}

TEST(HardwareFile, ADeviceMayBeLikeAPreset) {
  const Hardware h = parse_hardware_toml(
      "schema = 1\n[device]\nlike = \"A100\"\nname = \"slow A100\"\n"
      "fp32_flops = 10e12\n",
      "h.toml");
  EXPECT_EQ(h.cluster.device.name, "slow A100");
  EXPECT_EQ(h.cluster.device.fp32_flops, 10e12);
  EXPECT_EQ(h.cluster.device.half_flops, 312e12);
}

TEST(HardwareFile, AMissingFileIsSaidToBeMissing) {
  EXPECT_THROW(find_hardware("nowhere.toml"), Error);
  EXPECT_EQ(find_hardware("DGX A100").cluster.devices(), 8);
}

// As `lockstep train` writes it.
Json machine_of_run(const std::string& device) {
  return {{"schema", 1},
          {"host", "vm"},
          {"system", "Linux"},
          {"cores", 16},
          {"memory_bytes", 135148457984},
          {"device",
           {{"kind", "cuda"},
            {"name", device},
            {"memory_bytes", 150109880320},
            {"driver", "13.0"}}}};
}

TEST(HardwareFile, AMachineOfARunIsOneByItsDevicesPreset) {
  const auto place = [](const std::string& dotted) { return dotted; };
  const Hardware h = hardware_from_json(machine_of_run("NVIDIA H200"), place);
  EXPECT_EQ(h.cluster.name, "vm");
  EXPECT_EQ(h.cluster.device.name, find_device("H200").name);
  EXPECT_EQ(h.cluster.device.memory_bytes, 150109880320);
  EXPECT_EQ(h.cluster.devices(), 1);
  try {
    hardware_from_json(machine_of_run("Some CPU"), place);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is no preset"), std::string::npos);
    EXPECT_NE(e.hint().find("lockstep probe"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
