// SPDX-License-Identifier: Apache-2.0
// A comparison of batch sizes as tables: what every size did, what each
// criterion picks, the choice over targets, and what outcomes hang on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/advise/batch_by_devices.h"
#include "lockstep/batch/compare.h"
#include "lockstep/batch/own_choice.h"
#include "lockstep/core/table.h"

namespace lockstep {

Table batch_rows(std::span<const BatchComparison> comparisons);
Table batch_choices(std::span<const BatchComparison> comparisons);
Table batch_curve(std::span<const BatchComparison> comparisons);
Table batch_own_choices(std::span<const OwnChoice> choices);
struct ArmByDevices {
  std::string arm;
  std::vector<BatchForDevices> rows;
};
Table batch_by_devices(std::span<const ArmByDevices> arms);
Table batch_sensitivity(std::span<const Sensitivity> rows);

}  // namespace lockstep
