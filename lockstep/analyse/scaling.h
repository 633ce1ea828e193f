// SPDX-License-Identifier: Apache-2.0
// Weak scaling (the same batch on each rank) and strong scaling (the same
// global batch on all ranks together), measured against the fewest ranks there
// are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

enum class ScalingKind { weak, strong };

struct ScalingStep {
  std::size_t point = 0;  // position in Study::points
  std::int64_t ranks = 1;
  Estimate speedup = {};     // of samples a second, over the base
  Estimate efficiency = {};  // speed-up over the factor of ranks
  // Step time less the base's at the same batch a rank: how papers that time
  // nothing inside a step estimate communication. NaN in strong scaling.
  double comm_by_subtraction_s = 0;
};

struct ScalingSeries {
  ScalingKind kind = ScalingKind::weak;
  std::string model, strategy, hardware, arm;
  Origin origin = Origin::measured;  // of everything beyond the base
  std::int64_t batch = 0;            // a rank when weak, global when strong
  std::vector<ScalingStep> steps;    // by ranks; the first is the base
};

// Every series with two or more numbers of ranks. A `single` run is the base of
// every strategy; machines, and measured and emulated points, do not mix.
std::vector<ScalingSeries> scaling_of(const Study& study);

}  // namespace lockstep
