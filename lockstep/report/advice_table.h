// SPDX-License-Identifier: Apache-2.0
// Advice as a table: the choice first, then what it was weighed against.
#pragma once

#include "lockstep/advise/advise.h"
#include "lockstep/core/table.h"

namespace lockstep {

// `most` of the ranking after choice, next best, more devices and remedies.
Table advice_rows(const Grid& grid, const Advice& advice, std::size_t most);

}  // namespace lockstep
