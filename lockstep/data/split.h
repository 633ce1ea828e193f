// SPDX-License-Identifier: Apache-2.0
// Which samples train and which are held back, as lists of positions. Pure
// functions of the labels: the same everywhere for the same seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

using Positions = std::vector<std::int64_t>;

struct Parts {
  Positions train, validation;  // ascending
};

// Holds back `share` of each class (rounded; at least one of a class of two or
// more, never all of it), chosen by `seed`.
Parts split_by_class(std::span<const std::int32_t> labels, double share,
                     std::uint64_t seed);

// At most `count` of `positions`, the same number of each class as far as they
// have them, spread evenly over each class. 0: all.
Positions limit_evenly(const Positions& positions,
                       std::span<const std::int32_t> labels,
                       std::int64_t count);

}  // namespace lockstep
