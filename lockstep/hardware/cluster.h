// SPDX-License-Identifier: Apache-2.0
// Nodes x devices and the links inside and between them: what a prediction
// runs on. Ranks fill one node after the other.
#pragma once

#include <optional>
#include <string>

#include "lockstep/hardware/device_spec.h"
#include "lockstep/hardware/link.h"

namespace lockstep {

struct Cluster {
  std::string name;
  int nodes = 1, devices_per_node = 1;
  DeviceSpec device;
  std::optional<Link> inside;   // may be missing on one device a node
  std::optional<Link> between;  // may be missing on one node

  int devices() const { return nodes * devices_per_node; }
  int nodes_of(int ranks) const {
    return (ranks + devices_per_node - 1) / devices_per_node;
  }
  // Ranks on the fullest node.
  int ranks_per_node(int ranks) const {
    return ranks < devices_per_node ? ranks : devices_per_node;
  }
};

// Throws Error{Fault::config}: a missing link, absurd counts.
void validate(const Cluster& cluster);

// The link that carries `ranks` of one node: a bridge hands over to what is
// beyond it. Throws Error{Fault::config} when none does.
const Link& link_inside(const Cluster& cluster, int ranks);

}  // namespace lockstep
