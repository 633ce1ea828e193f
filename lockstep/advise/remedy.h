// SPDX-License-Identifier: Apache-2.0
// What could be done about a choke, each remedy priced by itself on the most
// devices of the question.
#pragma once

#include "lockstep/advise/advise.h"

namespace lockstep {

// Only those that change the time by more than a percent, the best first.
std::vector<Choice> remedies_of(const Subject& subject, const Grid& grid,
                                const Goal& goal,
                                const std::vector<Choice>& ranking);

}  // namespace lockstep
