// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/emulate.h"

#include "lockstep/comm/emulated_group.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/kernels/gpu_table.h"
#include "lockstep/predict/collective.h"

namespace lockstep {
namespace {

// All ranks in one node, or one rank a node where the link is a network.
Cluster cluster_of(const Link& link, int ranks) {
  Cluster out;
  out.name = link.name;
  if (link.kind == LinkKind::network) {
    out.nodes = ranks;
    out.between = link;
  } else {
    out.devices_per_node = ranks;
    out.inside = link;
  }
  return out;
}

}  // namespace

std::unique_ptr<Group> emulate(const RunConfig& config) {
  if (config.comm.kind != CommKind::emulated) return nullptr;
  const int ranks = static_cast<int>(config.comm.ranks);
  const auto cluster =
      std::make_shared<Cluster>(cluster_of(find_link(config.comm.link), ranks));
  const Fabric fabric = fabric_of(*cluster, ranks);
  const auto link = [cluster, fabric](Collective op, std::int64_t bytes, int) {
    return collective_cost(fabric, op, static_cast<double>(bytes)).seconds();
  };
  // Null on the CPU, where the host keeps the time.
  StreamDelay delay;
  if (gpu_table().delay != nullptr) delay = gpu_table().delay;
  return make_emulated_group(ranks, link, delay);
}

}  // namespace lockstep
