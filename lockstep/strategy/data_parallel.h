// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lockstep/strategy/strategy.h"

namespace lockstep {

// Rank 0 is given the whole batch, the others passes without samples.
// Error{Fault::config} unless all ranks are threads of one process.
std::unique_ptr<Strategy> make_data_parallel(const StrategyContext& context);

}  // namespace lockstep
