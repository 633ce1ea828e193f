// SPDX-License-Identifier: Apache-2.0
// How data_parallel moves what all replicas hold. As a star device 0 sends to,
// or hears from, one replica after the other; else in the group's collective,
// in which every replica moves a part. One planned message either way.
#pragma once

#include "lockstep/strategy/messages.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {

// Until every replica holds the root's values.
void broadcast_model(const StrategyContext& context, Messages& messages,
                     const Message& planned, const at::Tensor& values);

// Until the root holds the sum over replicas, added in rank order.
void reduce_model(const StrategyContext& context, Messages& messages,
                  const Message& planned, const at::Tensor& values);

}  // namespace lockstep
