// SPDX-License-Identifier: Apache-2.0
// B*(K): the batch of highest goodput on K devices, where one was measured.
// Steps of K devices are predicted from those of one, the noise scale is the
// study's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/batch/compare.h"
#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/subject.h"

namespace lockstep {

// What a study measured on one device.
struct OneDevice {
  Subject subject;
  std::vector<SeenStep> steps;  // at two or more batch sizes, rising
  double base_batch = 0;        // an example there is worth one
  NoiseForGoodput noise;
};

struct BatchForDevices {
  int devices = 1;
  std::int64_t batch = 0;          // of all devices
  std::int64_t low = 0, high = 0;  // at the ends of the noise scale's interval
  double step_s = 0, step_lo90_s = 0, step_hi90_s = 0;
  double efficiency = 0;  // of an example, by the noise scale
  double goodput = 0;     // useful examples a second
  double speedup = 0;     // goodput over that of one device at its best
  // A device's share lies outside of what was measured.
  bool beyond = false;
};

// The comparison's rows as what one device measured. Error{Fault::config} when
// it is of several, has fewer than two step times or no noise scale.
OneDevice one_device(const BatchComparison& comparison, Subject subject);

std::vector<BatchForDevices> best_batches(const OneDevice& measured,
                                          const Cluster& cluster,
                                          std::span<const int> devices);

}  // namespace lockstep
