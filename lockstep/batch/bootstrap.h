// SPDX-License-Identifier: Apache-2.0
// Intervals by resampling: two nets on the same examples, or runs that differ
// in their seed alone.
#pragma once

#include <cstdint>
#include <span>

namespace lockstep {

struct Interval {
  double low = 0, high = 0;
};

struct BootstrapOptions {
  int resamples = 1000;
  double level = 0.90;
  std::uint64_t seed = 1;
};

// Two nets' predictions of the same labels, example by example.
struct PairedPredictions {
  std::span<const int> labels, first, second;
  int classes = 0;
};

struct PairedDifference {
  double nats = 0;  // Miller-Madow information of first less second
  double se = 0;
  Interval interval;
  bool differ = false;  // the interval leaves zero out
};

// Resamples examples, the same draw for both. Error{Fault::data} when the three
// lists differ in length: the evaluations must be of the same examples.
PairedDifference paired_bootstrap(const PairedPredictions& pair,
                                  const BootstrapOptions& options = {});

// Interval of a mean over seeds. One value gives itself twice.
Interval bootstrap_mean(std::span<const double> values,
                        const BootstrapOptions& options = {});

}  // namespace lockstep
