// SPDX-License-Identifier: Apache-2.0
// How a bucket of gradients travels: as it is, in 16 bits, its largest entries
// alone (top-k), or as two thin factors (PowerSGD). What a hook sends is what
// plan/hook_plan.h says; one file a hook.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lockstep/config/strategy.h"
#include "lockstep/plan/comm_plan.h"
#include "lockstep/strategy/strategy.h"

namespace lockstep {

class Messages;

struct GradHook {
  // The bucket's gradients are there: encodes them and starts their message.
  // Called from within backward, in the order of buckets; never waits.
  std::function<void(std::size_t bucket)> start;
  // After backward, collective: until the flat gradients of every rank hold
  // the sum over ranks, as far as the hook keeps it.
  std::function<void()> finish;
  // What the next step needs: errors kept back, factors. As Strategy's.
  std::function<StrategyState()> save;
  std::function<void(const StrategyState&)> load;
  // Relative norm of what this rank's messages left out, for the record. May
  // wait for a device.
  std::function<Json()> account;
};

// All of it outlives the hook.
struct HookContext {
  const StrategyConfig& config;
  const CommPlan& plan;  // its gradient messages are the hook's
  FlatParams& params;
  Group& group;
  Messages& messages;
  std::uint64_t seed = 0;  // the same on every rank
};

GradHook make_grad_hook(const HookContext& context);

// The first message of each bucket, in their order: a hook may plan a second.
std::vector<Message> buckets_in(const CommPlan& plan);

}  // namespace lockstep
