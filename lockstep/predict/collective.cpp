// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/predict/tuner.h"

namespace lockstep {
namespace {

// A curve that begins below this size shows its latency; one that begins
// above it does not, and the link's own latency stands in.
constexpr double kSmallBytes = 64.0 * 1024;

// Share of ring bandwidth that a tree reaches (NCCL src/graph/tuning.cc).
constexpr double kTreeShare = 0.92;

// Transfer never takes less than this share of a measured time, whatever the
// latency is believed to be.
constexpr double kLeastTransfer = 0.1;

Steps steps_of(const Link& link, int ranks, int nodes) {
  return {.ranks = ranks,
          .nodes = nodes,
          .per_node = (ranks + nodes - 1) / nodes,
          .inside = link.hop == Hop::net ? Hop::nvlink : link.hop};
}

double latency_of(const Link& link, const LinkCurve& curve) {
  const LinkPoint& first = curve.points.front();
  if (first.bytes <= kSmallBytes) return first.seconds;
  const int nodes = link.kind == LinkKind::network ? 2 : 1;
  const double tuner =
      tuner_latency_s(curve.op, steps_of(link, curve.ranks, curve.nodes)) /
      tuner_latency_s(CurveOp::all_reduce, steps_of(link, 2, nodes));
  return std::min(link.latency_s * tuner, first.seconds * (1 - kLeastTransfer));
}

// Bandwidth rises with size up to about `ramp` beyond what latency explains.
double ramp_shape(double bytes, double ramp) {
  return bytes + (ramp > 0 ? ramp * bytes / (bytes + ramp) : 0);
}

// The tuner's latencies for this curve, scaled to the measured one.
struct CurveLatency {
  double ring_s = 0, tree_s = 0;
};

CurveLatency latencies(const Link& link, const LinkCurve& curve,
                       double latency_s) {
  const Steps steps = steps_of(link, curve.ranks, curve.nodes);
  const double scale = latency_s / tuner_latency_s(curve.op, steps);
  return {.ring_s = scale * ring_latency_s(curve.op, steps),
          .tree_s = scale * tree_latency_s(steps)};
}

// Solves min(ring, tree) = measured time for the transfer of a bus factor of
// one: each rises with the transfer, so it is the larger of the two solutions.
double solve_transfer(const Link& link, const LinkCurve& curve,
                      double latency_s, double seconds) {
  const CurveLatency l = latencies(link, curve, latency_s);
  const double ring = (seconds - l.ring_s) / bus_factor(curve.op, curve.ranks);
  const double tree = curve.op == CurveOp::all_reduce
                          ? (seconds - l.tree_s) * kTreeShare / 2
                          : 0;
  return std::max({0.0, ring, tree});
}

// Transfer part of the curve's time for a bus factor of one.
double transfer_on(const Link& link, const LinkCurve& curve, double latency_s,
                   double bytes) {
  const LinkPoint& first = curve.points.front();
  if (first.bytes > kSmallBytes && bytes < first.bytes)
    return solve_transfer(link, curve, latency_s, first.seconds) *
           ramp_shape(bytes, link.ramp_bytes) /
           ramp_shape(first.bytes, link.ramp_bytes);
  return solve_transfer(link, curve, latency_s, seconds_at(curve, bytes));
}

// A cross-node curve is told apart by its nodes, one inside a node by ranks.
int scale_of(const Link& link, const LinkCurve& curve) {
  return link.kind == LinkKind::network ? curve.nodes : curve.ranks;
}

Lane lane_of(const Link& link, int scale) {
  Lane lane{.link = &link};
  // Curves of the operation most links are measured with, if there are any.
  const bool has_all_reduce = std::ranges::any_of(
      link.curves,
      [](const LinkCurve& c) { return c.op == CurveOp::all_reduce; });
  for (const LinkCurve& curve : link.curves) {
    if (has_all_reduce && curve.op != CurveOp::all_reduce) continue;
    const int at = scale_of(link, curve);
    if (at <= scale && (!lane.lower || at > scale_of(link, *lane.lower)))
      lane.lower = &curve;
    if (at >= scale && (!lane.upper || at < scale_of(link, *lane.upper)))
      lane.upper = &curve;
  }
  if (!lane.lower) lane.lower = lane.upper;
  if (!lane.upper) lane.upper = lane.lower;
  const int lo = scale_of(link, *lane.lower), hi = scale_of(link, *lane.upper);
  if (lo != hi)
    lane.weight = std::log(double(scale) / lo) / std::log(double(hi) / lo);
  lane.lower_latency_s = latency_of(link, *lane.lower);
  lane.upper_latency_s = latency_of(link, *lane.upper);
  const auto over_tuner = [&](const LinkCurve& c, double latency_s) {
    return latency_s / tuner_latency_s(c.op, steps_of(link, c.ranks, c.nodes));
  };
  lane.latency_scale =
      std::pow(over_tuner(*lane.lower, lane.lower_latency_s), 1 - lane.weight) *
      std::pow(over_tuner(*lane.upper, lane.upper_latency_s), lane.weight);
  return lane;
}

CurveOp curve_of(Collective op) {
  switch (op) {
    case Collective::all_reduce:
    case Collective::barrier:
      return CurveOp::all_reduce;
    case Collective::reduce:
    case Collective::gather:
      return CurveOp::reduce;
    case Collective::broadcast:
    case Collective::scatter:
      return CurveOp::broadcast;
    case Collective::all_gather:
      return CurveOp::all_gather;
    case Collective::reduce_scatter:
      return CurveOp::reduce_scatter;
  }
  return CurveOp::all_reduce;
}

bool is_share(Collective op) {
  return op == Collective::gather || op == Collective::scatter;
}

double slowest_transfer_s(const Fabric& f, double bytes) {
  const double in = f.inside.link ? f.inside.transfer_s(bytes) : 0;
  const double out = f.between.link ? f.between.transfer_s(bytes) : 0;
  return std::max(in, out);
}

Steps steps_of(const Fabric& f) {
  return {.ranks = f.ranks,
          .nodes = f.nodes,
          .per_node = f.per_node,
          .inside = f.inside.link ? f.inside.link->hop : Hop::nvlink};
}

double latency_scale(const Fabric& f) {
  return f.between.link ? f.between.latency_scale : f.inside.latency_scale;
}

CollectiveCost ring_cost(const Fabric& f, Collective op, double bytes) {
  const CurveOp as = curve_of(op);
  const double factor =
      is_share(op) ? double(f.ranks - 1) / f.ranks : bus_factor(as, f.ranks);
  // Shares travel straight between the root and each rank, all at once.
  const double tuner = is_share(op) ? tuner_latency_s(as, {.ranks = 2})
                                    : ring_latency_s(as, steps_of(f));
  return {.latency_s = latency_scale(f) * tuner,
          .transfer_s = factor * slowest_transfer_s(f, bytes),
          .algorithm = Algorithm::ring};
}

CollectiveCost tree_cost(const Fabric& f, double bytes) {
  return {.latency_s = latency_scale(f) * tree_latency_s(steps_of(f)),
          .transfer_s = 2 / kTreeShare * slowest_transfer_s(f, bytes),
          .algorithm = Algorithm::tree};
}

// A group that was measured with this very operation needs no algorithm.
std::optional<CollectiveCost> measured_cost(const Link* link, CurveOp op,
                                            int ranks, double bytes) {
  if (!link) return std::nullopt;
  for (const LinkCurve& curve : link->curves) {
    if (curve.op != op || curve.ranks != ranks || curve.nodes != 1) continue;
    const double latency = latency_of(*link, curve);
    return CollectiveCost{
        .latency_s = latency,
        .transfer_s = std::max(0.0, seconds_at(curve, bytes) - latency),
        .algorithm = Algorithm::ring};
  }
  return std::nullopt;
}

// The same of a whole collective; shares are sent as parts of a broadcast are.
// All-reduces have their algorithms: links are measured with them.
std::optional<CollectiveCost> measured_cost(const Fabric& f, Collective op,
                                            double bytes) {
  const CurveOp as = is_share(op) ? CurveOp::broadcast : curve_of(op);
  if (f.nodes > 1 || as == CurveOp::all_reduce) return std::nullopt;
  const double sent = is_share(op) ? bytes * (f.ranks - 1) / f.ranks : bytes;
  return measured_cost(f.inside.link, as, f.ranks, sent);
}

CollectiveCost star_cost(const Fabric& f, Collective op, double bytes) {
  const double piece = is_share(op) || op == Collective::all_gather ||
                               op == Collective::reduce_scatter
                           ? bytes / f.ranks
                           : bytes;
  const int rounds = op == Collective::all_reduce ? 2 : 1;
  const double copies = rounds * (f.ranks - 1);
  if (const auto one = measured_cost(f.nodes == 1 ? f.pair.link : nullptr,
                                     CurveOp::broadcast, 2, piece))
    return {.latency_s = copies * one->latency_s,
            .transfer_s = copies * one->transfer_s,
            .algorithm = Algorithm::star};
  const double transfer =
      f.between.link ? slowest_transfer_s(f, piece) : f.pair.transfer_s(piece);
  return {.latency_s = copies * f.pair.link->latency_s,
          .transfer_s = copies * transfer,
          .algorithm = Algorithm::star};
}

CollectiveCost hierarchical_cost(const Fabric& f, double bytes) {
  Fabric node = f, across = f;
  node.nodes = 1, node.ranks = f.per_node, node.between = {};
  across.ranks = f.nodes, across.per_node = 1, across.inside = {};
  CollectiveCost out{.algorithm = Algorithm::hierarchical};
  const auto add = [&out](const CollectiveCost& part) {
    out.latency_s += part.latency_s, out.transfer_s += part.transfer_s;
  };
  if (node.ranks > 1) {
    add(ring_cost(node, Collective::reduce_scatter, bytes));
    add(ring_cost(node, Collective::all_gather, bytes));
  }
  if (across.ranks > 1) add(ring_cost(across, Collective::all_reduce, bytes));
  return out;
}

CollectiveCost choose(const Fabric& f, Collective op, double bytes,
                      Algorithm algorithm) {
  const bool reduces_all =
      op == Collective::all_reduce || op == Collective::barrier;
  if (algorithm == Algorithm::star) return star_cost(f, op, bytes);
  if (const auto known = measured_cost(f, op, bytes)) return *known;
  if (algorithm == Algorithm::hierarchical && reduces_all)
    return hierarchical_cost(f, bytes);
  if (algorithm == Algorithm::tree && reduces_all) return tree_cost(f, bytes);
  const CollectiveCost ring = ring_cost(f, op, bytes);
  if (algorithm != Algorithm::automatic || !reduces_all) return ring;
  const CollectiveCost tree = tree_cost(f, bytes);
  return tree.seconds() < ring.seconds() ? tree : ring;
}

}  // namespace

std::string_view word(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "auto";
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::star:
      return "star";
  }
  return "";
}

double Lane::transfer_s(double bytes) const {
  const double low = transfer_on(*link, *lower, lower_latency_s, bytes);
  if (weight <= 0) return low;
  const double high = transfer_on(*link, *upper, upper_latency_s, bytes);
  if (low <= 0 || high <= 0) return (1 - weight) * low + weight * high;
  return low * std::pow(high / low, weight);
}

Fabric fabric_of(const Cluster& cluster, int ranks) {
  if (ranks < 1 || ranks > cluster.devices())
    throw Error(Fault::config, "cluster '" + cluster.name + "'",
                fmt::format("has {} devices, not {}", cluster.devices(), ranks),
                "ask for fewer ranks or give `nodes` and `devices_per_node`");
  Fabric fabric{.ranks = ranks,
                .nodes = cluster.nodes_of(ranks),
                .per_node = cluster.ranks_per_node(ranks)};
  if (fabric.per_node > 1)
    fabric.inside =
        lane_of(link_inside(cluster, fabric.per_node), fabric.per_node);
  if (fabric.nodes > 1) {
    if (!cluster.between)
      throw Error(Fault::config, "cluster '" + cluster.name + "'",
                  "has no link between its nodes", "set `between` to a link");
    fabric.between = lane_of(*cluster.between, fabric.nodes);
  }
  if (fabric.per_node > 1)
    fabric.pair = lane_of(link_inside(cluster, 2), 2);
  else
    fabric.pair = fabric.between;
  return fabric;
}

CollectiveCost collective_cost(const Fabric& fabric, Collective op,
                               double bytes, Algorithm algorithm,
                               LinkTweak tweak) {
  if (fabric.ranks == 1) return {};
  if (op == Collective::barrier) bytes = 0;
  if (bytes < 1) bytes = 0;
  CollectiveCost cost = choose(fabric, op, std::max(bytes, 1.0), algorithm);
  if (bytes == 0) cost.transfer_s = 0;
  cost.latency_s *= tweak.latency;
  cost.transfer_s /= tweak.bandwidth;
  return cost;
}

double collective_s(const Cluster& cluster, int ranks, Collective op,
                    double bytes) {
  return collective_cost(fabric_of(cluster, ranks), op, bytes).seconds();
}

}  // namespace lockstep
