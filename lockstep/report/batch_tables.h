// SPDX-License-Identifier: Apache-2.0
// A comparison of batch sizes as tables: what every size did, what each
// criterion picks, the choice over targets, and what outcomes hang on.
#pragma once

#include <span>

#include "lockstep/batch/compare.h"
#include "lockstep/core/table.h"

namespace lockstep {

Table batch_rows(std::span<const BatchComparison> comparisons);
Table batch_choices(std::span<const BatchComparison> comparisons);
Table batch_curve(std::span<const BatchComparison> comparisons);
Table batch_sensitivity(std::span<const Sensitivity> rows);

}  // namespace lockstep
