// SPDX-License-Identifier: Apache-2.0
// A profile as a table: a row a layer at the largest batch size, and one for
// what a step holds beside its layers.
#pragma once

#include "lockstep/core/table.h"
#include "lockstep/plan/profile.h"

namespace lockstep {

Table profile_table(const Profile& profile);

}  // namespace lockstep
