// SPDX-License-Identifier: Apache-2.0
// Seed 000: why 2, 3 and 4 devices take the same time. The route decides (all
// through device 0, or each device passing on what it received), and whether
// the devices share their links.
#pragma once

#include "lockstep/report/claims.h"

namespace lockstep {

Claim same_from_two_on(const Study& study);
Claim why_equal(const Study& study);

}  // namespace lockstep
