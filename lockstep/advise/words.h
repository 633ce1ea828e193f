// SPDX-License-Identifier: Apache-2.0
// The advice in words: one sentence first, then the evidence.
#pragma once

#include "lockstep/advise/advise.h"

namespace lockstep {

std::string sentence_of(const Subject& subject, const Grid& grid,
                        const Goal& goal, const Advice& advice);
std::vector<std::string> evidence_of(const Grid& grid, const Goal& goal,
                                     const Advice& advice);

}  // namespace lockstep
