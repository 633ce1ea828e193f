// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/hook_plan.h"

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kFloatBytes = 4;

CommPlan cast(Message bucket, WireType type) {
  bucket.bytes = bucket.bytes / kFloatBytes * bytes_of(type);
  bucket.type = type;
  return {bucket};
}

// Position and value share 64 bits. Every rank gets everybody's choice, or the
// root of a reduce alone does, straight from each.
CommPlan topk(const StrategyConfig& config, Message bucket,
              std::int64_t ranks) {
  const bool to_root = bucket.op == Collective::reduce;
  bucket.op = to_root ? Collective::gather : Collective::all_gather;
  bucket.route = to_root ? Route::star : Route::ring;
  bucket.type = WireType::int64;
  bucket.bytes = ranks * bytes_of(WireType::int64) *
                 topk_count(config, bucket.bytes / kFloatBytes);
  return {bucket};
}

// First what stays whole together with the left factors, then, when those are
// summed and orthogonal, the right factors. Every rank needs both, whoever
// needs the sum: the left ones for its right ones, those for the next step.
CommPlan powersgd(const StrategyConfig& config, const ParamList& params,
                  const Message& bucket) {
  if (params.rows.size() != params.numel.size())
    throw Error(Fault::config, "strategy.hook",
                "powersgd needs the shapes of the parameters",
                "an old profile does not have them: measure it again, or "
                "name the model instead");
  Message left = bucket;
  left.op = Collective::all_reduce, left.route = Route::ring;
  left.bytes = 0;
  Message right = left;
  if (bucket.phase == Phase::backward) right.phase = Phase::after_backward;
  for (const std::size_t i : bucket.params) {
    const std::int64_t numel = params.numel[i], rows = params.rows[i];
    const std::int64_t columns = powersgd_columns(config, numel, rows);
    left.bytes += (columns == 0 ? numel : rows * columns) * kFloatBytes;
    right.bytes += (columns == 0 ? 0 : numel / rows * columns) * kFloatBytes;
  }
  return {left, right};
}

}  // namespace

std::int64_t topk_count(const StrategyConfig& config, std::int64_t numel) {
  const double wanted = config.topk_share * static_cast<double>(numel);
  return std::clamp<std::int64_t>(std::llround(wanted), 1, numel);
}

std::int64_t powersgd_columns(const StrategyConfig& config, std::int64_t numel,
                              std::int64_t rows) {
  const std::int64_t columns = numel / rows;
  const std::int64_t rank = std::min({config.powersgd_rank, rows, columns});
  return (rows + columns) * rank < numel ? rank : 0;
}

CommPlan plan_hook(const StrategyConfig& config, const ParamList& params,
                   const Message& bucket, std::int64_t ranks) {
  switch (config.hook) {
    case HookKind::none:
      return {bucket};
    case HookKind::bf16:
      return cast(bucket, WireType::bf16);
    case HookKind::fp16:
      return cast(bucket, WireType::fp16);
    case HookKind::topk:
      return topk(config, bucket, ranks);
    case HookKind::powersgd:
      return powersgd(config, params, bucket);
  }
  check(false, "every hook has a plan");
  return {};
}

Message norm_forward(std::int64_t channels, std::int64_t ranks) {
  return {.op = Collective::all_gather,
          .payload = Payload::norm_statistics,
          .bytes = ranks * (2 * channels + 1) * kFloatBytes,
          .phase = Phase::forward};
}

Message norm_backward(std::int64_t channels) {
  return {.op = Collective::all_reduce,
          .payload = Payload::norm_statistics,
          .bytes = 2 * channels * kFloatBytes,
          .phase = Phase::backward};
}

}  // namespace lockstep
