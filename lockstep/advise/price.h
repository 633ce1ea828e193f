// SPDX-License-Identifier: Apache-2.0
// Time and money of one prediction: samples still to be seen, at the progress
// each makes.
#pragma once

#include "lockstep/advise/advise.h"

namespace lockstep {

// Fills in progress, time, device hours, money and learning rate.
Choice priced(Choice choice, const Goal& goal);

}  // namespace lockstep
