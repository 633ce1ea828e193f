// SPDX-License-Identifier: Apache-2.0
// The critical batch size by a fit over a sweep: steps to a target against
// batch size follow S = S_min (1 + B_crit / B) (McCandlish et al. 2018).
#pragma once

#include <span>

namespace lockstep {

struct StepsToTarget {
  double batch = 0;
  double steps = 0;
};

struct CriticalBatch {
  double batch = 0;          // B_crit = E_min / S_min
  double low = 0, high = 0;  // 90 %, on the logarithm
  double min_steps = 0;      // S_min, however large the batch
  double min_examples = 0;   // E_min, however small the batch
  double rms_log_error = 0;
  // False when the sweep shows no bend: steps fall in proportion to the batch
  // throughout, or do not fall at all. Then `batch` says only "beyond".
  bool bends = false;
};

// Least squares in ln S. Error{Fault::data} for fewer than three batch sizes
// or a number that is not positive. The unit of steps does not matter to
// B_crit.
CriticalBatch fit_critical_batch(std::span<const StepsToTarget> points);

}  // namespace lockstep
