// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/cluster.h"

#include <fmt/format.h>

#include "lockstep/hardware/presets.h"
#include "lockstep/hardware/sane.h"

namespace lockstep {

void validate(const Cluster& c) {
  const std::string where = "cluster '" + c.name + "'";
  check_sane(where, "nodes", c.nodes, {1, 1 << 20});
  check_sane(where, "devices_per_node", c.devices_per_node, {1, 4096});
  validate(c.device);
  if (c.devices_per_node > 1 && !c.inside)
    throw Error(Fault::config, where,
                fmt::format("{} devices a node and no link inside it",
                            c.devices_per_node),
                "set `inside` to a link; `lockstep hardware list`");
  if (c.nodes > 1 && !c.between)
    throw Error(Fault::config, where,
                fmt::format("{} nodes and no link between them", c.nodes),
                "set `between` to a link; `lockstep hardware list`");
}

const Link& link_inside(const Cluster& cluster, int ranks) {
  if (!cluster.inside)
    throw Error(Fault::config, "cluster '" + cluster.name + "'",
                "has no link inside a node",
                "set `inside` to a link; `lockstep hardware list`");
  const Link* link = &*cluster.inside;
  while (link->max_ranks > 0 && ranks > link->max_ranks) {
    if (link->beyond.empty())
      throw Error(Fault::config, "link '" + link->name + "'",
                  fmt::format("joins {} ranks, not {}", link->max_ranks, ranks),
                  "name the link that carries more as `beyond`");
    link = &find_link(link->beyond);
  }
  return *link;
}

}  // namespace lockstep
