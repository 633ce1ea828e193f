// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lockstep/strategy/strategy.h"

namespace lockstep {

struct GradHook;

// `hook`, where it is not null, becomes the strategy's, for who takes over from
// it.
std::unique_ptr<Strategy> make_ddp(const StrategyContext& context,
                                   GradHook* hook = nullptr);

}  // namespace lockstep
