// SPDX-License-Identifier: Apache-2.0
// Who reads which sample in an epoch. Every rank computes the same shuffle and
// takes its share: nothing lost, nothing repeated, shares differ by one at
// most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// The order of an epoch, a permutation of 0 … size-1. The same on every
// machine for the same seed and epoch. Without `reshuffle` every epoch has the
// order of epoch 0.
std::vector<std::int64_t> epoch_order(std::int64_t size, std::uint64_t seed,
                                      std::int64_t epoch, bool reshuffle);

struct ShareOptions {
  std::int64_t global_batch = 1;  // samples of one step: all ranks and passes
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  std::int64_t passes = 1;  // forward passes of a step (batch.accumulate)
  // Samples of the epoch that were trained before, by however many ranks.
  std::int64_t begin = 0;
};

// What one rank reads from `begin` to the end of the epoch. Its batches follow
// each other in `samples`: `passes` of them a step, the same number on every
// rank. In the last step of an epoch one may be empty.
struct Share {
  std::vector<std::int64_t> samples;
  std::vector<std::int64_t> batches;  // sizes
};

// A step takes the next `global_batch` samples of `order`, the last one what
// is left. Rank r takes the r-th run of them; the first ranks take one more
// where they cannot be even, and so do the first passes of a rank.
Share share_of(std::span<const std::int64_t> order,
               const ShareOptions& options);

// Steps from `begin` to the end of an epoch of `size` samples.
std::int64_t steps_left(std::int64_t size, std::int64_t global_batch,
                        std::int64_t begin);

}  // namespace lockstep
