// SPDX-License-Identifier: Apache-2.0
// Settings of the `measure` section.
#pragma once

#include <cstdint>

namespace lockstep {

struct MeasureConfig {
  bool record = true;
  bool trace = false;
  std::int64_t every = 0;
  std::int64_t hold_every = 0;
};

// Whether the messages of this step wait until its backward is done.
constexpr bool holds(const MeasureConfig& c, std::int64_t step) {
  return c.hold_every > 0 && step % c.hold_every == c.hold_every - 1;
}

template <class Visitor>
void describe(Visitor& v, MeasureConfig& c) {
  v.flag("record", c.record, "time the parts of each step (steps.csv)");
  v.flag("trace", c.trace, "write trace.json for Perfetto as well");
  v.number("every", c.every, {.min = 0},
           "time the parts of every so many-th step only, the others have "
           "their whole time; 0: of each on a CPU, of every tenth on a GPU");
  v.number("hold_every", c.hold_every, {.min = 0},
           "ddp, sharded: every so many-th step sends after backward only, "
           "which shows how much messages slow it down; 0: never");
}

}  // namespace lockstep
