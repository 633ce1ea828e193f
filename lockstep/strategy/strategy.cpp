// SPDX-License-Identifier: Apache-2.0
// The list of strategies. A kind added to the enum and forgotten here does not
// compile (-Werror=switch).
#include "lockstep/strategy/strategy.h"

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"
#include "lockstep/strategy/ddp.h"
#include "lockstep/strategy/local_sgd.h"
#include "lockstep/strategy/sharded.h"
#include "lockstep/strategy/single.h"

namespace lockstep {

std::unique_ptr<Strategy> make_strategy(const StrategyContext& context) {
  const RunConfig& config = context.config;
  if (config.strategy.hook != HookKind::none || config.strategy.sync_batchnorm)
    throw Error(Fault::config, "strategy",
                "hook and sync_batchnorm can be planned and predicted, not "
                "yet trained",
                "leave both out");
  switch (resolved(config.strategy.kind, context.group.size())) {
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
      throw Error(Fault::config, "strategy.kind",
                  "'" + word(config, "strategy.kind") +
                      "' can be planned and predicted, not yet trained",
                  "train with strategy.kind=ddp");
  }
  throw Error(Fault::internal, "strategy.kind", "not a strategy");
}

}  // namespace lockstep
