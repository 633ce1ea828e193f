// SPDX-License-Identifier: Apache-2.0
// Numbers as cells of a table: one that is not finite is not known. And the
// columns that show them in the units of every report.
#pragma once

#include <cmath>
#include <optional>

#include "lockstep/core/table.h"

namespace lockstep {

inline Cell cell(double value) {
  return std::isfinite(value) ? Cell(value) : Cell();
}
inline Cell cell(const std::optional<double>& value) {
  return value ? cell(*value) : Cell();
}

// Of a share, 0 to 1.
inline Column percent_column(const char* name, const char* title,
                             int decimals = 1) {
  return {.name = name,
          .title = title,
          .unit = "(%)",
          .show = scaled(100, decimals)};
}
inline Column seconds_column(const char* name, const char* title,
                             int decimals) {
  return {
      .name = name, .title = title, .unit = "(s)", .show = scaled(1, decimals)};
}

}  // namespace lockstep
