// SPDX-License-Identifier: Apache-2.0
// A broadcast or a reduce as a star: the root sends to, or hears from, one rank
// after the other, and nothing else moves meanwhile.
#pragma once

#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep {

// Until the root's values are everywhere, or the root holds the sum over ranks:
// added in rank order, 16-bit numbers in fp32 and rounded once, the same bits
// as the group's own collective gives. The transfers, in their order; two
// ranks at the least.
std::vector<TransferHandle> run_star(Group& group, const Call& call);

}  // namespace lockstep
