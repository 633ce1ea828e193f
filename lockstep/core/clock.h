// SPDX-License-Identifier: Apache-2.0
// Monotonic seconds for timing, wall-clock text for records. Nothing else may
// read a clock.
#pragma once

#include <chrono>
#include <string>

namespace lockstep {

// Seconds since an arbitrary start that never jumps. The same in every thread
// of the machine.
inline double now_s() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// "2026-11-15T10:54:35Z", for records only.
std::string utc_now();

}  // namespace lockstep
