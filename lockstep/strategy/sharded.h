// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lockstep/strategy/strategy.h"

namespace lockstep {

std::unique_ptr<Strategy> make_sharded(const StrategyContext& context);

}  // namespace lockstep
