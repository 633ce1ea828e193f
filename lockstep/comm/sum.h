// SPDX-License-Identifier: Apache-2.0
// Adds the same piece of many ranks' buffers in rank order, vectorised. The
// result does not depend on how the work is cut or who does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lockstep/plan/comm_plan.h"

namespace lockstep {

// to[j][i] = from[0][i] + from[1][i] + …, for `numel` elements. A destination
// may be one of the sources, whole; else they do not overlap. 16-bit types are
// added in fp32 and rounded once, to nearest even.
void sum_in_rank_order(WireType type, std::span<const std::byte* const> from,
                       std::span<std::byte* const> to, std::int64_t numel);

}  // namespace lockstep
