// SPDX-License-Identifier: Apache-2.0
// Settings of the `measure` section.
#pragma once

#include <cstdint>

namespace lockstep {

struct MeasureConfig {
  bool record = true;
  bool trace = false;
  std::int64_t every = 1;
};

template <class Visitor>
void describe(Visitor& v, MeasureConfig& c) {
  v.flag("record", c.record, "time the parts of each step (steps.csv)");
  v.flag("trace", c.trace, "write trace.json for Perfetto as well");
  v.number("every", c.every, {.min = 1},
           "time every so many-th step only; the others have their whole time");
}

}  // namespace lockstep
