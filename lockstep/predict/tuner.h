// SPDX-License-Identifier: Apache-2.0
// Latencies of NCCL's own tuner: a base for each collective and a hop for each
// step, low-latency protocol (NVIDIA/nccl, src/graph/tuning.cc). Only ratios
// matter here: measured curves set the scale.
#pragma once

#include "lockstep/hardware/link.h"

namespace lockstep {

struct Steps {
  int ranks = 2, nodes = 1, per_node = 2;
  Hop inside = Hop::nvlink;
};

double ring_latency_s(CurveOp op, const Steps& steps);
double tree_latency_s(const Steps& steps);  // of an all-reduce
// The smaller of the two, as the tuner chooses for a message of nothing.
double tuner_latency_s(CurveOp op, const Steps& steps);

}  // namespace lockstep
