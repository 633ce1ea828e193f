// SPDX-License-Identifier: Apache-2.0
// One check for every number a hardware file brings in.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep {

struct Sane {
  double min = 0, max = 0;
};

inline void check_sane(const std::string& where, const std::string& field,
                       double value, Sane range) {
  if (std::isfinite(value) && value >= range.min && value <= range.max) return;
  throw Error(
      Fault::config, where,
      fmt::format("{} = {} is not possible", field, value),
      fmt::format("SI units, between {:g} and {:g}", range.min, range.max));
}

}  // namespace lockstep
