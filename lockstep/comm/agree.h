// SPDX-License-Identifier: Apache-2.0
// Decisions and clocks that ranks must share. Two ranks that decide alone from
// a measurement will one day decide differently and wait for each other.
#pragma once

#include <cstdint>

#include "lockstep/comm/group.h"

namespace lockstep {

// Collective. Every rank gets rank 0's answer, to the bit.
bool agree(Group& group, bool mine);
std::int64_t agree(Group& group, std::int64_t mine);
double agree(Group& group, double mine);

// Collective. True when any rank says true: a signal that reached one rank.
bool any_of(Group& group, bool mine);

// This rank's clock against rank 0's.
struct ClockOffset {
  double offset_s = 0;  // now_s() here + offset_s is rank 0's now_s()
  double error_s = 0;   // at most this far off, half the shortest round trip
};

// Collective. Rank 0 exchanges `rounds` messages with each rank; the round
// with the shortest way there and back counts. Zero for ranks that are threads
// of one process: they read the same clock.
ClockOffset align_clocks(Group& group, int rounds = 50);

}  // namespace lockstep
