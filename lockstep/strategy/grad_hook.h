// SPDX-License-Identifier: Apache-2.0
// How a bucket of gradients is summed over ranks: as it is, in 16 bits, its
// largest entries alone (top-k), or as two thin factors (PowerSGD). What a hook
// sends is what plan/hook_plan.h says; one file a hook, for every strategy.
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
  // May be called from within backward, in the order of buckets; never waits,
  // but where a star is planned.
  std::function<void(std::size_t bucket)> start;
  // After backward, collective: until the flat gradients hold the sum over
  // ranks, as far as the hook keeps it; of a planned reduce at its root, of a
  // reduce-scatter in this rank's shares of buckets.
  std::function<void()> finish;
  // What the next step needs: errors kept back, factors. As Strategy's.
  std::function<StrategyState()> save;
  std::function<void(const StrategyState&)> load;
  // What this rank kept back, [numel of the model], for who goes on without
  // the hook, which forgets it. Undefined where a hook keeps nothing.
  std::function<at::Tensor()> take_back;
  // Relative norm of what this rank's messages left out, for the record. May
  // wait for a device.
  std::function<Json()> account;
};

// All of it outlives the hook.
struct HookContext {
  const StrategyConfig& config;
  const CommPlan& plan;  // its messages of `payload` are the hook's
  FlatParams& params;
  Group& group;
  Messages& messages;
  std::uint64_t seed = 0;  // the same on every rank
  // Of local_sgd parameters: their changes lie where gradients do.
  Payload payload = Payload::gradients;
};

GradHook make_grad_hook(const HookContext& context);

// As a strategy has it.
HookContext hook_context(const StrategyContext& context, const CommPlan& plan,
                         Messages& messages,
                         Payload payload = Payload::gradients);

// The first message of each bucket, in their order: a hook may plan a second.
std::vector<Message> buckets_in(const CommPlan& plan,
                                Payload payload = Payload::gradients);

// For Strategy::account(): what the hook left out, and how many bytes fewer a
// step sends than without it. Nothing without a hook.
Json account_of(const GradHook& hook, const RunConfig& config,
                const ParamList& params, const StepShape& shape);

}  // namespace lockstep
