// SPDX-License-Identifier: Apache-2.0
// One real rank that stands for many: a collective takes the time that a link
// model gives it and moves nothing. It shows the timeline of N ranks, with
// overlap as it really happens; it takes no bandwidth from the computation.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <memory>

#include "lockstep/comm/group.h"

namespace lockstep {

// Seconds of a collective: operation, bytes as Message::bytes counts them,
// ranks.
using LinkModel = std::function<double(Collective, std::int64_t, int)>;

// Keeps a stream of a device busy for so many seconds; from the device's
// library. Without it tensors must be in the CPU's memory.
using StreamDelay = std::function<void(c10::Stream, double)>;

// Rank 0 of `ranks`. The link carries one collective at a time, in the order
// of starting. Values: as if the other ranks held zeros, so sums are the own
// values, the own share is where it belongs, the rest is left alone.
std::unique_ptr<Group> make_emulated_group(int ranks, LinkModel link,
                                           StreamDelay delay = {});

}  // namespace lockstep
