// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/choose_group.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

const Launcher kNone;
const Launcher kMpirun{.kind = LauncherKind::mpi, .rank = 1, .size = 4};
const Launcher kTorchrun{.kind = LauncherKind::torchrun, .rank = 0, .size = 2};

TEST(ChooseGroup, AutoIsThreadsWithoutALauncher) {
  const GroupChoice choice =
      choose_group(CommKind::automatic, 3, kNone, /*gpu=*/false);
  EXPECT_EQ(choice.kind, CommKind::threads);
  EXPECT_EQ(choice.ranks, 3);
}

TEST(ChooseGroup, AutoIsMpiOrNcclUnderALauncher) {
  EXPECT_EQ(choose_group(CommKind::automatic, {}, kMpirun, false).kind,
            CommKind::mpi);
  EXPECT_EQ(choose_group(CommKind::automatic, {}, kMpirun, false).ranks, 4);
  EXPECT_EQ(choose_group(CommKind::automatic, 2, kTorchrun, true).kind,
            CommKind::nccl);
}

TEST(ChooseGroup, ContradictionsAreRefused) {
  EXPECT_THROW(choose_group(CommKind::automatic, 2, kMpirun, false), Error);
  EXPECT_THROW(choose_group(CommKind::threads, {}, kMpirun, false), Error);
  EXPECT_THROW(choose_group(CommKind::emulated, 4, kMpirun, false), Error);
  EXPECT_THROW(choose_group(CommKind::mpi, 2, kNone, false), Error);
  EXPECT_THROW(choose_group(CommKind::automatic, {}, kTorchrun, false), Error);
}

}  // namespace
}  // namespace lockstep
