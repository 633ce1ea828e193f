// SPDX-License-Identifier: Apache-2.0
// Why an epoch takes less time with a larger batch on one device (seed 004,
// Q1): arithmetic intensity, copies to the device, launches and idle device
// time, each a sample, so that what is saved adds up.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"
#include "lockstep/report/claims.h"

namespace lockstep {

struct BatchReason {
  std::string model, arm, hardware, device;
  std::int64_t batch = 0;
  double epoch_s = 0, step_s = 0;
  // Of a sample: forward, backward and update; copies to the device; the rest,
  // in which it waits. Medians, so the first two may be more than all of it.
  double compute_s = 0, copy_s = 0, idle_s = 0;
  double flops_per_byte = 0;  // by the plan; NaN: no plan for this model
  double flops_per_s = 0;     // reached in compute
  // By a step: work handed over together, and what it holds. NaN: not counted.
  double launches = 0, operations = 0;

  double sample_s() const { return step_s / static_cast<double>(batch); }
};

// Measured points of one device of a study that follows seed 004, by batch.
std::vector<BatchReason> batch_reasons_of(const Study& study);
Table reasons_table(const std::vector<BatchReason>& reasons);

// Of what a sample takes less at the largest batch than at the smallest, which
// part is the kernels' own and which is copies and waiting.
Claim nearer_to_compute(const Study& study);
Claim fewer_trips(const Study& study);

}  // namespace lockstep
