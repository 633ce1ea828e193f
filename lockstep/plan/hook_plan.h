// SPDX-License-Identifier: Apache-2.0
// What a bucket of gradients (of local_sgd: of the parameters' changes) becomes
// on the wire under a gradient hook, and
// what a BatchNorm over all ranks sends. Those in strategy/ that send take
// their sizes from here, so plan and message agree.
#pragma once

#include <cstdint>

#include "lockstep/plan/comm_plan.h"

namespace lockstep {

// How many of `numel` gradients top-k sends, at least one.
std::int64_t topk_count(const StrategyConfig& config, std::int64_t numel);

// Columns of PowerSGD's factors for a parameter seen as a matrix of `rows`;
// 0 when the two factors would not be smaller than the matrix.
std::int64_t powersgd_columns(const StrategyConfig& config, std::int64_t numel,
                              std::int64_t rows);

// The messages that stand for `bucket`, a sum over ranks of fp32 numbers
// (all_reduce, reduce or reduce_scatter), in the order in which they start;
// those after the first wait for it. A cast stays the collective it was; what
// else is sent gives the sum to every rank, entries for a reduce to its root.
// Error{Fault::config} where the hook needs shapes and `params` has none.
CommPlan plan_hook(const StrategyConfig& config, const ParamList& params,
                   const Message& bucket, std::int64_t ranks);

// What one BatchNorm over all ranks sends: in forward each rank's mean, sum of
// squared deviations and count, in backward the sums of two gradients.
Message norm_forward(std::int64_t channels, std::int64_t ranks);
Message norm_backward(std::int64_t channels);

}  // namespace lockstep
