// SPDX-License-Identifier: Apache-2.0
// One training step as events: backward fills gradients in order, a bucket
// leaves when its last gradient is there, one message at a time on the link,
// compute slows down while a message is in flight. Derivation: docs/numbers.md.
#pragma once

#include <string>
#include <vector>

#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/collective.h"
#include "lockstep/predict/software.h"
#include "lockstep/predict/workload.h"

namespace lockstep {

// What is not known exactly, with a unit each. An interval comes from moving
// them by their spread.
struct Assumptions {
  double compute = 1;       // factor on device time
  LinkTweak link = {};      // factors on the link
  double contention = 0.1;  // compute is slower by this share during a message
  double jitter = 0.02;     // a rank's step: standard deviation over mean
  double host = 1;          // factor on overheads of the host
  double input = 1;         // factor on the loader's rate
};

// A message as the timeline sees it.
struct TimedMessage {
  double ready_s = 0;  // after the beginning of the last pass's backward
  double latency_s = 0, transfer_s = 0;
};

// Everything of one step that does not depend on the assumptions.
struct StepPlan {
  int ranks = 1, passes = 1;
  double forward_s = 0, backward_s = 0;  // of one pass
  double optimizer_s = 0, overhead_s = 0;
  double input_s = 0;     // what loading this step's samples takes; 0: unknown
  double sync_every = 1;  // steps between two waits for the slowest rank
  std::vector<TimedMessage> overlapped = {};  // in order, during last backward
  // Sum of the messages that nothing runs beside.
  double serial_latency_s = 0, serial_transfer_s = 0;
  double bubble_s = 0;  // model_parallel: stages wait for each other
};

struct StepParts {
  double step_s = 0;
  double compute_s = 0;       // device and host work of a rank
  double exposed_comm_s = 0;  // messages nothing hides, and their slow-down
  double idle_s = 0;          // waiting for the slowest rank or stage
  double input_wait_s = 0;    // waiting for the loader
  double comm_s = 0;          // all messages, hidden ones too
  double latency_s = 0;       // of exposed_comm_s, what no bandwidth shortens
};

StepParts simulate(const StepPlan& plan, const Assumptions& assume);

// Mean of the largest of n standard normal values (Blom).
double expected_max_normal(double n);

}  // namespace lockstep
