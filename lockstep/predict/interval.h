// SPDX-License-Identifier: Apache-2.0
// From what is not known to a 90 % interval: each assumption is moved by its
// spread, one at a time, and the changes of ln(time) are added as variances.
#pragma once

#include "lockstep/predict/predict.h"
#include "lockstep/predict/timeline.h"

namespace lockstep {

// One standard deviation of the logarithm of each, or as said.
struct Spreads {
  double compute = 0.05, link = 0.25, host = 0.3, input = 0.1;
  double contention = 0.1;  // of the share itself
  double jitter = 0.7;      // of ln(jitter): half to twice
};
Spreads spreads(const Workload& work, const Fabric& fabric);

// Standard deviation of ln(x), downwards and upwards.
struct TwoSided {
  double down = 0, up = 0;
};
struct Spread {
  TwoSided step, speedup;
};
Spread spread_of(const StepPlan& many, const StepPlan& single,
                 const Spreads& spreads, const Assumptions& assume);

// The middle 90 % of a log-normal value.
Range90 around(double value, const TwoSided& spread);

}  // namespace lockstep
