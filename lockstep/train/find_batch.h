// SPDX-License-Identifier: Apache-2.0
// lockstep find-batch: the largest batch that fits and the best by goodput,
// from a minute of trials on the device itself. Nothing is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/config/run_config.h"

namespace lockstep {

struct FindOptions {
  double seconds = 90;            // of trials, not counting the start
  std::int64_t memory_bytes = 0;  // CPU: may be used in all; 0: what is free
};

struct TriedBatch {
  std::int64_t per_rank = 0, global = 0;
  bool fits = false;
  double step_s = 0;  // median of three; NaN where it was not timed
  std::int64_t peak_memory_bytes = 0;
  double efficiency = 0, goodput = 0;
  std::string note = {};
};

struct FoundBatch {
  std::vector<TriedBatch> tried;      // in order of size
  std::int64_t largest_per_rank = 0;  // that fits
  std::int64_t best_per_rank = 0;     // by goodput
  // What ended the search: memory, the plan of memory, the data, the time.
  std::string ended;
  double noise_scale = 0;
  std::int64_t noise_samples = 0;
};

// Collective. Rank 0's answer counts. A rank that runs out of memory says so to
// the others before anything is sent: none of them waits for it.
FoundBatch find_batch(const RunConfig& config, const FindOptions& options,
                      Group& group);

}  // namespace lockstep
