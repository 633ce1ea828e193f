// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/shard.h"

#include <algorithm>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/data/random.h"

namespace lockstep {
namespace {

struct Run {
  std::int64_t begin, size;
};

// Part `index` of `parts` nearly equal runs of `total`.
Run part(std::int64_t total, std::int64_t parts, std::int64_t index) {
  const std::int64_t small = total / parts, more = total % parts;
  return {index * small + std::min(index, more), small + (index < more)};
}

}  // namespace

std::vector<std::int64_t> epoch_order(std::int64_t size, std::uint64_t seed,
                                      std::int64_t epoch, bool reshuffle) {
  check(size >= 0 && epoch >= 0, "an epoch has a size and a number");
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  const auto stream = static_cast<std::uint64_t>(reshuffle ? epoch : 0);
  Random(mix_seed(seed, stream)).shuffle(std::span(order));
  return order;
}

Share share_of(std::span<const std::int64_t> order,
               const ShareOptions& options) {
  check(options.global_batch > 0 && options.passes > 0, "a step has samples");
  check(options.rank >= 0 && options.rank < options.ranks, "rank of ranks");
  const auto size = static_cast<std::int64_t>(order.size());
  check(options.begin >= 0 && options.begin <= size, "begin is in the epoch");
  Share share;
  for (std::int64_t at = options.begin; at < size; at += options.global_batch) {
    const Run mine = part(std::min(options.global_batch, size - at),
                          options.ranks, options.rank);
    const auto first = order.begin() + at + mine.begin;
    share.samples.insert(share.samples.end(), first, first + mine.size);
    for (std::int64_t pass = 0; pass < options.passes; ++pass)
      share.batches.push_back(part(mine.size, options.passes, pass).size);
  }
  return share;
}

std::int64_t steps_left(std::int64_t size, std::int64_t global_batch,
                        std::int64_t begin) {
  return (size - begin + global_batch - 1) / global_batch;
}

}  // namespace lockstep
