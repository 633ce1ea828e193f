// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// How published tables spell their GPUs, and which preset they mean.
TEST(Presets, EverySpellingOfADeviceFindsIt) {
  const std::pair<const char*, const char*> spellings[] = {
      {"RTX 2080 Ti", "RTX 2080 Ti"},
      {"NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"},
      {"Quadro RTX 8000", "Quadro RTX 8000"},
      {"V100-SXM2 16GB", "V100-SXM2 16GB"},
      {"A100-SXM4 80GB", "A100-SXM4 80GB"},
      {"NVIDIA A100-SXM4-80GB", "A100-SXM4 80GB"},
      {"A100-SXM4 40GB", "A100-SXM4 40GB"},
      {"V100-SXM3 32GB", "V100-SXM3 32GB"},
      {"V100-SXM2 32GB", "V100-SXM2 32GB"},
      {"RTX 3090", "RTX 3090"},
      {"RTX A6000", "RTX A6000"},
      {"H100-SXM5 80GB", "H100-SXM5 80GB"},
      {"K80 (one GK210)", "Tesla K80"},
      {"P100-SXM2 16GB", "P100-SXM2 16GB"},
      {"RTX 6000 Ada", "RTX 6000 Ada"},
      {"Quadro RTX 6000", "Quadro RTX 6000"},
      {"A100-PCIE-40GB", "A100-PCIe 40GB"},
      {"H100-PCIe 80GB", "H100-PCIe 80GB"},
      {"RTX A5500", "RTX A5500"},
      {"A40", "A40"},
      {"RTX A4000", "RTX A4000"},
      {"B200-SXM 192GB", "B200-SXM 192GB"},
      {"RTX 3080", "RTX 3080"},
      {"GTX 1080 Ti", "GTX 1080 Ti"},
      {"A100-PCIE-80GB", "A100-PCIe 80GB"},
      {"RTX A5000", "RTX A5000"},
      {"RTX 4090", "RTX 4090"},
      {"Tesla K40m", "Tesla K40m"},
      {"H200-SXM 141GB", "H200-SXM 141GB"},
      {"RTX 3070", "RTX 3070"},
      {"V100", "V100-SXM2 16GB"},
      {"RTX A4500", "RTX A4500"},
      {"V100 (variant not stated)", "V100-SXM2 16GB"}};
  for (const auto& [text, name] : spellings) {
    const DeviceSpec* found = match_device(text);
    ASSERT_NE(found, nullptr) << text;
    EXPECT_EQ(found->name, name) << text;
  }
  EXPECT_EQ(match_device("Pascal (model not stated)"), nullptr);
  EXPECT_EQ(match_device(""), nullptr);
}

TEST(Presets, AnUnknownNameIsRefusedWithTheNearestOne) {
  try {
    find_device("RTX 3091");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    EXPECT_STREQ(e.what(), "RTX 3091: there is no such device");
    EXPECT_EQ(e.hint(), "did you mean 'RTX 3090'?");
  }
  EXPECT_THROW(find_link("nvswich"), Error);
  EXPECT_THROW(find_device(""), Error);
  EXPECT_THROW(find_cluster("my desk"), Error);
}

TEST(Presets, NoNameMeansTwoPresets) {
  std::set<std::string> seen;
  for (const DeviceSpec& d : device_presets()) {
    std::set<std::string> own = {plain_name(d.name)};
    for (const auto& other : d.other_names) own.insert(plain_name(other));
    for (const auto& name : own) EXPECT_TRUE(seen.insert(name).second) << name;
  }
  seen.clear();
  for (const Link& link : link_presets()) {
    std::set<std::string> own = {plain_name(link.name)};
    for (const auto& other : link.other_names) own.insert(plain_name(other));
    for (const auto& name : own) EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Presets, EveryOneHasItsSource) {
  for (const DeviceSpec& d : device_presets()) EXPECT_FALSE(d.source.empty());
  for (const Link& link : link_presets()) EXPECT_FALSE(link.source.empty());
}

// Descriptions as published tables have them.
TEST(Presets, ADescriptionFindsTheLinksItSpeaksOf) {
  const struct {
    const char *text, *inside, *between;
  } cases[] = {
      {"NVLink2 hybrid cube-mesh (DGX-1V)", "nvlink2-mesh", ""},
      {"NVSwitch + NVLink3 (DGX A100)", "nvswitch-a100", ""},
      {"NVSwitch + NVLink2 (DGX-2)", "nvswitch-v100", ""},
      {"PCIe3 dual Xeon 6230 (chassis 4029GP-TRT inferred from dir name), no "
       "P2P",
       "pcie3-host", ""},
      {"PCIe3 Xeon 6230 (chassis 4029GP-TRT2 inferred from dir name) + NVLink "
       "bridge pairs",
       "nvlink2-bridge", ""},
      {"PCIe3 Xeon 6230 (chassis 4029GP-TRT2 inferred from dir name), P2P over "
       "PCIe",
       "pcie3-p2p", ""},
      {"NVSwitch + NVLink3 (DGX A100) ; inter-node fabric not stated",
       "nvswitch-a100", "fabric-a100"},
      {"NVLink1 (DGX-1, 8x P100)", "nvlink1-mesh", ""},
      {"PCIe4 EPYC 7302 2-socket, no NVLink", "pcie4-p2p", ""},
      {"PCIe4, EPYC 7662 host, no P2P (log edge matrix all N)", "pcie4-host",
       ""},
      {"HGX H100 NVSwitch/NVLink4 (Dell)", "nvswitch-h100", ""},
      {"HGX H200 NVSwitch/NVLink4", "nvswitch-h200", ""},
      {"HGX B200 NVSwitch/NVLink5", "nvswitch-b200", ""},
      {"PCIe5 (NVLink bridge not stated)", "pcie5-host", ""},
      {"cloud VM, no P2P (log all N)", "pcie3-host", ""},
      {"PCIe3 in node; AWS p2.8xlarge Ethernet (10 Gbit) between nodes",
       "pcie3-p2p", "ethernet-10g"},
      {"NVLink2 in node (p3.16xlarge); 25 Gbit/s Ethernet between",
       "nvlink2-mesh", "ethernet-25g"},
      {"4 GPUs/node; 25 Gbit/s RoCE", "", "roce-25g"},
      {"4 GPUs/node; 40 Gbit/s Ethernet TCP", "", "ethernet-40g"},
      {"NVLink2 (Dell C4140, 4 GPUs); EDR InfiniBand (mlx5, single HCA)",
       "nvlink2-mesh", "ib-edr"},
      {"single machine", "", ""}};
  for (const auto& c : cases) {
    const LinkMatch found = match_links(c.text);
    EXPECT_EQ(found.inside ? found.inside->name : "", c.inside) << c.text;
    EXPECT_EQ(found.between ? found.between->name : "", c.between) << c.text;
  }
}

}  // namespace
}  // namespace lockstep
