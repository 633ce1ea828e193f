// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/hardware/sane.h"

namespace lockstep {
namespace {

// Neighbours up to this factor apart in size are joined in logarithms.
constexpr double kDense = 64;

// Pool adjacent violators in ln(time): the nearest curve that never falls.
void pool(std::vector<LinkPoint>& points) {
  struct Block {
    double sum = 0;
    std::size_t count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (const LinkPoint& p : points) {
    blocks.push_back({std::log(p.seconds), 1});
    while (blocks.size() > 1 &&
           blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      blocks[blocks.size() - 2].sum += blocks.back().sum;
      blocks[blocks.size() - 2].count += blocks.back().count;
      blocks.pop_back();
    }
  }
  std::size_t at = 0;
  for (const Block& b : blocks)
    for (std::size_t i = 0; i < b.count; ++i)
      if (b.count > 1)
        points[at++].seconds = std::exp(b.mean());
      else
        ++at;
}

void tidy(const std::string& where, LinkCurve& curve) {
  if (curve.points.empty())
    throw Error(Fault::config, where, "a curve has no points");
  check_sane(where, "ranks", curve.ranks, {2, 1 << 20});
  check_sane(where, "nodes", curve.nodes, {1, double(curve.ranks)});
  for (const LinkPoint& p : curve.points) {
    check_sane(where, "bytes", p.bytes, {1, 1e15});
    check_sane(where, "seconds", p.seconds, {1e-9, 1e6});
  }
  std::ranges::stable_sort(curve.points, {}, &LinkPoint::bytes);
  const auto same =
      std::ranges::adjacent_find(curve.points, {}, &LinkPoint::bytes);
  if (same != curve.points.end())
    throw Error(Fault::config, where,
                fmt::format("two times for {} bytes on {} ranks", same->bytes,
                            curve.ranks));
  pool(curve.points);
}

}  // namespace

std::string_view word(LinkKind kind) {
  switch (kind) {
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::bridge:
      return "bridge";
    case LinkKind::mesh:
      return "mesh";
    case LinkKind::nvswitch:
      return "switch";
    case LinkKind::network:
      return "network";
    case LinkKind::memory:
      return "memory";
  }
  return "";
}

std::string_view word(Hop hop) {
  switch (hop) {
    case Hop::nvlink:
      return "nvlink";
    case Hop::pcie:
      return "pcie";
    case Hop::net:
      return "net";
    case Hop::memory:
      return "memory";
  }
  return "";
}

std::string_view word(CurveOp op) {
  switch (op) {
    case CurveOp::all_reduce:
      return "all_reduce";
    case CurveOp::reduce:
      return "reduce";
    case CurveOp::broadcast:
      return "broadcast";
    case CurveOp::all_gather:
      return "all_gather";
    case CurveOp::reduce_scatter:
      return "reduce_scatter";
  }
  return "";
}

void tidy(Link& link) {
  const std::string where = "link '" + link.name + "'";
  check_sane(where, "latency_s", link.latency_s, {1e-9, 10});
  check_sane(where, "ramp_bytes", link.ramp_bytes, {0, 1e12});
  check_sane(where, "spread", link.spread, {0, 3});
  check_sane(where, "max_ranks", link.max_ranks, {0, 1 << 20});
  if (link.contention)
    check_sane(where, "contention", *link.contention, {0, 1e3});
  if (link.curves.empty())
    throw Error(Fault::config, where, "has no measured curve",
                "give at least one point: bytes and seconds of an all-reduce");
  for (LinkCurve& curve : link.curves) tidy(where, curve);
  std::ranges::stable_sort(link.curves, {}, &LinkCurve::ranks);
}

double seconds_at(const LinkCurve& curve, double bytes) {
  const std::vector<LinkPoint>& p = curve.points;
  if (bytes <= p.front().bytes) return p.front().seconds;
  if (bytes >= p.back().bytes) return p.back().seconds * bytes / p.back().bytes;
  const auto above = std::ranges::upper_bound(p, bytes, {}, &LinkPoint::bytes);
  const LinkPoint& hi = *above;
  const LinkPoint& lo = *(above - 1);
  // Few points: latency plus bandwidth is a better guess than a power law.
  if (hi.bytes > kDense * lo.bytes)
    return lo.seconds + (hi.seconds - lo.seconds) * (bytes - lo.bytes) /
                            (hi.bytes - lo.bytes);
  const double share =
      std::log(bytes / lo.bytes) / std::log(hi.bytes / lo.bytes);
  return lo.seconds * std::pow(hi.seconds / lo.seconds, share);
}

double bus_factor(CurveOp op, int ranks) {
  const double n = ranks;
  switch (op) {
    case CurveOp::all_reduce:
      return 2 * (n - 1) / n;
    case CurveOp::all_gather:
    case CurveOp::reduce_scatter:
      return (n - 1) / n;
    case CurveOp::reduce:
    case CurveOp::broadcast:
      return 1;
  }
  return 1;
}

}  // namespace lockstep
