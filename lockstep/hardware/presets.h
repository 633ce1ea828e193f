// SPDX-License-Identifier: Apache-2.0
// Devices, links and clusters that ship with the program (presets/*.csv, each
// row with its source), and how a name finds one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/hardware/cluster.h"

namespace lockstep {

const std::vector<DeviceSpec>& device_presets();
const std::vector<Link>& link_presets();
const std::vector<Cluster>& cluster_presets();

// By name or one of its other names; case, blanks, dashes and the maker's name
// do not matter. Error{Fault::config} with the nearest right name.
const DeviceSpec& find_device(const std::string& name);
const Link& find_link(const std::string& name);
const Cluster& find_cluster(const std::string& name);

// The device a published table means by "Tesla V100-SXM2-16GB (DGX-1)": the
// longest name the text contains. Null when there is none.
const DeviceSpec* match_device(std::string_view text);

// Links that free text such as "PCIe4 EPYC 7502, no P2P" speaks of: inside a
// node, and between nodes (null where the text says nothing).
struct LinkMatch {
  const Link* inside = nullptr;
  const Link* between = nullptr;
};
LinkMatch match_links(std::string_view text);

// "NVIDIA Tesla V100-SXM2 16GB" -> "v100sxm216gb".
std::string plain_name(std::string_view name);

}  // namespace lockstep
