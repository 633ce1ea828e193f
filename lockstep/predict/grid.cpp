// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/predictor.h"

namespace lockstep {
namespace {

// One rank is `single`, whatever the strategy.
Question question_of(const Grid& grid, Method method, std::int64_t batch,
                     int ranks) {
  Question q = grid.asked;
  q.method = ranks == 1 ? Method::single : method;
  q.batch = batch;
  q.ranks = ranks;
  return q;
}

void place_link(Cluster& cluster, const Link& link) {
  std::optional<Link>& slot =
      link.kind == LinkKind::network ? cluster.between : cluster.inside;
  if (slot)
    throw Error(Fault::config, slot->name + "+" + link.name,
                "are two links for one place",
                "one inside a node, one between nodes (of kind network)");
  slot = link;
}

}  // namespace

Cluster cluster_from(const std::string& device, const std::string& link,
                     int per_node, int ranks) {
  Cluster out{.name = link.empty() ? device : device + ", " + link,
              .nodes = 1,
              .devices_per_node = 1,
              .device = find_device(device),
              .inside = {},
              .between = {}};
  if (!link.empty())
    for (const std::string& part : split(link, '+'))
      place_link(out, find_link(std::string(trim(part))));
  if (out.inside) out.devices_per_node = per_node;
  out.nodes = out.between ? out.nodes_of(ranks) : 1;
  if (ranks > out.devices())
    throw Error(
        Fault::config, out.name,
        fmt::format("joins {} ranks, not {}", out.devices(), ranks),
        link.empty()
            ? "name a link: `lockstep hardware list`"
            : fmt::format("add a link between nodes, '{}+ib-hdr-8x', or say "
                          "that a node has more: --per-node {}",
                          link, ranks));
  return out;
}

std::vector<GridPoint> predict_grid(const Subject& subject, const Grid& grid) {
  if (grid.points() > kMostPoints)
    throw Error(
        Fault::config, "grid",
        fmt::format("{} points are more than {}", grid.points(), kMostPoints));
  std::vector<GridPoint> out;
  out.reserve(grid.points());
  for (std::size_t c = 0; c < grid.clusters.size(); ++c) {
    const Cluster& cluster = grid.clusters[c];
    Predictor ask(subject, cluster, grid.software);
    for (const Method method : grid.methods)
      for (const std::int64_t batch : grid.batches)
        for (const int ranks : grid.ranks) {
          // One rank is the same by every strategy: it is answered once.
          if (ranks == 1 && method != grid.methods.front()) continue;
          const Question q = question_of(grid, method, batch, ranks);
          GridPoint point{.cluster = c, .prediction = ask(q)};
          if (grid.points() <= kMostFlips)
            point.flips = ask.flips(point.prediction);
          out.push_back(std::move(point));
        }
  }
  return out;
}

}  // namespace lockstep
