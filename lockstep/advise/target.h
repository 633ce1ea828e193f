// SPDX-License-Identifier: Apache-2.0
// From runs that reached an accuracy to what advise() weighs: samples at a base
// batch, the noise scale between batches, the batches that may be answered.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/advise/advise.h"

namespace lockstep {

// `goal` with samples, base batch, learning rate and noise scale taken from its
// evidence: the batch nearest to `near` is the base. What the user gave (a
// rate, a noise scale) stays.
Goal to_target(Goal goal, double near);

// Batches of which it is known how many samples they need: those measured; with
// a noise scale `near` and its halves and doubles. `asked`, where there is any,
// must all be known: Error{Fault::config}.
std::vector<std::int64_t> target_batches(
    const Goal& goal, const std::vector<std::int64_t>& asked);

// From an eighth of `base` to 64 times it.
std::vector<std::int64_t> batches_around(std::int64_t base);

}  // namespace lockstep
