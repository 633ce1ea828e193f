// SPDX-License-Identifier: Apache-2.0
// How far the advice that a run took was off: predicted beside measured.
#pragma once

#include <string>

#include "lockstep/store/run_record.h"

namespace lockstep {

// Empty for a run that took none.
std::string advice_line(const RunRecord& record);

}  // namespace lockstep
