// SPDX-License-Identifier: Apache-2.0
// What one collective costs on a cluster. Size comes from the link's measured
// curve; the dependence on ranks and nodes from the algorithm's steps with the
// latencies of NCCL's tuner. Derivation: docs/numbers.md.
#pragma once

#include "lockstep/hardware/cluster.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

// automatic: the faster of ring and tree, as NCCL's tuner chooses. star:
// through the root, one rank after the other. hierarchical: reduce-scatter in
// each node, all-reduce between nodes, all-gather in each node.
enum class Algorithm { automatic, ring, tree, hierarchical, star };
std::string_view word(Algorithm algorithm);

// A message takes latency_s + transfer_s. transfer_s is zero at zero bytes.
struct CollectiveCost {
  double latency_s = 0, transfer_s = 0;
  Algorithm algorithm = Algorithm::ring;

  double seconds() const { return latency_s + transfer_s; }
};

// Both as factors on the link's own: 2 is twice the bandwidth (or latency).
struct LinkTweak {
  double bandwidth = 1, latency = 1;
};

// One link of a path, ready to be asked for any size: the measured curves on
// either side of the wanted number of ranks.
struct Lane {
  const Link* link = nullptr;
  const LinkCurve* lower = nullptr;
  const LinkCurve* upper = nullptr;
  double weight = 0;         // of `upper`, by ln(ranks)
  double latency_scale = 1;  // measured latency over the tuner's
  double lower_latency_s = 0, upper_latency_s = 0;  // part of each curve

  // Seconds that `bytes` need over the busiest connection, latency left out,
  // for a bus factor of one.
  double transfer_s(double bytes) const;
};

// What `ranks` ranks see. Borrows links of the cluster, which must outlive it.
struct Fabric {
  int ranks = 1, nodes = 1, per_node = 1;
  Lane inside = {}, between = {};  // a lane without a link is not crossed
  Lane pair = {};                  // the first link for two ranks alone
};

// Throws Error{Fault::config} when the cluster has no link for that many
// ranks, or not so many devices. The cluster must outlive what is made of it.
Fabric fabric_of(const Cluster& cluster, int ranks);
Fabric fabric_of(Cluster&& cluster, int ranks) = delete;

// `bytes` is the whole vector, as in Message: for gather, scatter, all_gather
// and reduce_scatter all ranks' shares together.
CollectiveCost collective_cost(const Fabric& fabric, Collective op,
                               double bytes,
                               Algorithm algorithm = Algorithm::automatic,
                               LinkTweak tweak = {});

// Convenience for one question.
double collective_s(const Cluster& cluster, int ranks, Collective op,
                    double bytes);

}  // namespace lockstep
