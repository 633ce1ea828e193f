// SPDX-License-Identifier: Apache-2.0
// Who reads which sample in an epoch. Every rank computes the same shuffle and
// takes its share: nothing lost, nothing repeated, shares differ by one at
// most.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The order of an epoch, a permutation of 0 … size-1. The same on every
// machine for the same seed and epoch.
std::vector<std::int64_t> epoch_order(std::int64_t size, std::uint64_t seed,
                                      std::int64_t epoch, bool reshuffle);

}  // namespace lockstep
