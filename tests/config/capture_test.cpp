// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/capture.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Capture, EveryUpdateRuleIsRecorded) {
  RunConfig config;
  for (const OptimKind kind :
       {OptimKind::sgd, OptimKind::adam, OptimKind::adamw, OptimKind::lars,
        OptimKind::lamb})
    for (const int ranks : {1, 4}) {
      config.optim.kind = kind;
      EXPECT_EQ(settings_against_capture(config, ranks), "");
    }
}

TEST(Capture, SettingsThatSendAtOtherMomentsAreNot) {
  RunConfig synced, held, sharded, off;
  synced.strategy.sync_batchnorm = true;
  held.measure.hold_every = 5;
  for (const RunConfig& config : {synced, held}) {
    EXPECT_EQ(settings_against_capture(config, 1), "");
    EXPECT_NE(settings_against_capture(config, 2), "");
  }
  sharded.strategy.kind = StrategyKind::sharded;
  off.train.graph = GraphUse::off;
  for (const RunConfig& config : {sharded, off})
    EXPECT_NE(settings_against_capture(config, 1), "");
}

}  // namespace
}  // namespace lockstep
