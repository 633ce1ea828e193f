// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/capture.h"

namespace lockstep {

std::string settings_against_capture(const RunConfig& config,
                                     std::int64_t ranks) {
  if (config.train.graph == GraphUse::off) return "train.graph is off";
  const StrategyKind kind = resolved(config.strategy.kind, ranks);
  if (kind != StrategyKind::single && kind != StrategyKind::ddp)
    return "steps of this strategy are not captured";
  if (config.strategy.sync_batchnorm && ranks > 1)
    return "a synchronised BatchNorm sends within a pass";
  if (config.measure.hold_every > 0 && ranks > 1)
    return "measure.hold_every sends at other moments in some steps";
  return {};
}

}  // namespace lockstep
