// SPDX-License-Identifier: Apache-2.0
// A link as it was measured: time of a collective against size, for so many
// ranks on so many nodes. A single bandwidth would overstate a 25 MB bucket on
// NVSwitch twofold; a curve does not. Costs for other ranks: predict/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

enum class LinkKind { pcie, bridge, mesh, nvswitch, network, memory };
// What one hop of a ring crosses; NCCL's tuner has a latency for each.
enum class Hop { nvlink, pcie, net, memory };
// The operation a curve was measured with.
enum class CurveOp {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter
};

struct LinkPoint {
  double bytes = 0, seconds = 0;
};

struct LinkCurve {
  int ranks = 2, nodes = 1;
  CurveOp op = CurveOp::all_reduce;
  std::vector<LinkPoint> points;  // by bytes, seconds never falling
};

struct Link {
  std::string name;
  std::vector<std::string> other_names = {};
  LinkKind kind = LinkKind::pcie;
  bool p2p = true;  // devices reach each other's memory, or go through a host
  Hop hop = Hop::pcie;
  double latency_s = 12e-6;  // smallest all-reduce on two ranks
  // Size up to which bandwidth still rises, beyond what latency explains.
  double ramp_bytes = 0;
  // One standard deviation of ln(time) between machines with this link.
  double spread = 0.25;
  // Compute beside a message is slower by this share; ranks that carry their
  // messages themselves hardly compute meanwhile. Unknown: not measured.
  std::optional<double> contention = {};
  int max_ranks = 0;   // 0: any; a bridge joins two
  std::string beyond;  // link that carries more ranks than that
  std::vector<LinkCurve> curves = {};
  std::vector<std::string> match = {};  // words that name it in free text
  std::string source = {};
};

std::string_view word(LinkKind kind);
std::string_view word(Hop hop);
std::string_view word(CurveOp op);

// Sorts by size and makes times never fall with size (pooling neighbours that
// do, as noise does). Throws Error{Fault::config} for impossible numbers.
void tidy(Link& link);

// Time on the curve: log-log between points (a straight line where they are
// further than 64 times apart in size), constant bandwidth above the last,
// constant time below the first. `bytes` > 0.
double seconds_at(const LinkCurve& curve, double bytes);

// Bytes over the busiest connection for each byte of the message: 2 (n-1)/n
// for an all-reduce, as nccl-tests defines bus bandwidth.
double bus_factor(CurveOp op, int ranks);

}  // namespace lockstep
