// SPDX-License-Identifier: Apache-2.0
// The machine as a place to measure on: how much room it has, and what about
// it would spoil a measurement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/sweep/points.h"

namespace lockstep {

// Cores this process may use (affinity and quota), GPUs the driver shows.
Room room_here();

// A sentence for each: busy cores, frequency scaling, a debug build, a GPU
// somebody else uses. Watches the cores for `watch_s`.
std::vector<std::string> warnings_here(double watch_s, bool with_gpus);

// How often the processors slowed down for heat, and how often the system ended
// a process for memory, since it started.
struct Troubles {
  std::int64_t throttled = 0, out_of_memory = 0;
};
Troubles troubles_here();

}  // namespace lockstep
