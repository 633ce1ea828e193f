// SPDX-License-Identifier: Apache-2.0
// The list of strategies. A kind added to the enum and forgotten here does not
// compile (-Werror=switch).
#include "lockstep/strategy/strategy.h"

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/strategy/data_parallel.h"
#include "lockstep/strategy/ddp.h"
#include "lockstep/strategy/local_sgd.h"
#include "lockstep/strategy/sharded.h"
#include "lockstep/strategy/single.h"
#include "lockstep/strategy/sync_batchnorm.h"

namespace lockstep {
namespace {

// One rank's BatchNorm has all samples anyway.
void synchronise_if_asked(const StrategyContext& context) {
  const StrategyConfig& config = context.config.strategy;
  if (!config.sync_batchnorm || context.group.size() == 1) return;
  const bool central = config.kind == StrategyKind::data_parallel;
  synchronise_batchnorm(
      *context.model.module, context.group, context.recorder,
      central ? NormSpans{Span::dp_forward, Span::dp_backward} : NormSpans{});
}

void refuse_graph(const RunConfig& config, StrategyKind kind) {
  if (config.train.graph != GraphUse::on || kind == StrategyKind::single ||
      kind == StrategyKind::ddp)
    return;
  throw Error(
      Fault::config, "train.graph",
      "steps of '" + word(config, "strategy.kind") + "' are not captured",
      "train.graph=auto captures where it can");
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategyContext& context) {
  const RunConfig& config = context.config;
  const StrategyKind kind =
      resolved(config.strategy.kind, context.group.size());
  refuse_graph(config, kind);
  synchronise_if_asked(context);
  switch (kind) {
    case StrategyKind::automatic:
      break;
    case StrategyKind::single:
      return make_single(context);
    case StrategyKind::ddp:
      return make_ddp(context);
    case StrategyKind::sharded:
      return make_sharded(context);
    case StrategyKind::local_sgd:
      return make_local_sgd(context);
    case StrategyKind::data_parallel:
      return make_data_parallel(context);
  }
  throw Error(Fault::internal, "strategy.kind", "not a strategy");
}

}  // namespace lockstep
