// SPDX-License-Identifier: Apache-2.0
// Numbers as cells of a table: one that is not finite is not known.
#pragma once

#include <cmath>

#include "lockstep/core/table.h"

namespace lockstep {

inline Cell cell(double value) {
  return std::isfinite(value) ? Cell(value) : Cell();
}

}  // namespace lockstep
