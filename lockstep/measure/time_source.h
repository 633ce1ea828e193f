// SPDX-License-Identifier: Apache-2.0
// How a recorder asks for the time without stalling a device: mark() now,
// read the seconds later, when the work before the mark is long done.
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep {

struct TimeSource {
  // A point in the stream of work handed to the device so far.
  std::function<std::int64_t()> mark;
  // When that point was reached, on now_s()'s clock. May wait for the device:
  // call it outside of steps.
  std::function<double(std::int64_t)> seconds;
  // Marks given so far may be used again. Called after they were read.
  std::function<void()> forget;
  // Marks are points in a stream of work: the one at a step's end is where the
  // next step begins. They also hold the stream up for a microsecond or two.
  bool in_stream = false;
};

}  // namespace lockstep
