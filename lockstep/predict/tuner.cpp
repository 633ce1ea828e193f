// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/tuner.h"

#include <algorithm>
#include <bit>

namespace lockstep {
namespace {

constexpr double kRingBaseS = 6.6e-6, kTreeBaseS = 6.8e-6;
constexpr double kNvlinkHopS = 0.6e-6, kPcieHopS = 1.0e-6;
constexpr double kRingNetHopS = 2.7e-6, kTreeNetHopS = 5.0e-6;

double hop_s(Hop hop) { return hop == Hop::nvlink ? kNvlinkHopS : kPcieHopS; }

// Rounds up, where NCCL's log2i rounds down: three nodes are not two.
int log2_up(int value) {
  return value <= 1 ? 0 : std::bit_width(static_cast<unsigned>(value - 1));
}

}  // namespace

double ring_latency_s(CurveOp op, const Steps& s) {
  const int rounds = op == CurveOp::all_reduce ? 2 : 1;
  const double all = rounds * (s.ranks - 1);
  const double across = s.nodes > 1 ? rounds * (s.nodes - 1) : 0;
  return kRingBaseS + (all - across) * hop_s(s.inside) + across * kRingNetHopS;
}

double tree_latency_s(const Steps& s) {
  return kTreeBaseS + 2 * ((s.per_node - 1) * hop_s(s.inside) +
                           log2_up(s.nodes) * kTreeNetHopS);
}

double tuner_latency_s(CurveOp op, const Steps& steps) {
  const double ring = ring_latency_s(op, steps);
  return op == CurveOp::all_reduce ? std::min(ring, tree_latency_s(steps))
                                   : ring;
}

}  // namespace lockstep
