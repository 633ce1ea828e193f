// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/launcher.h"

#include <gtest/gtest.h>

#include <map>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

Launcher launcher(const std::map<std::string, std::string>& variables) {
  return find_launcher([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Launcher, NoneIsFoundInAPlainShell) {
  EXPECT_EQ(launcher({}).kind, LauncherKind::none);
  EXPECT_EQ(launcher({}).size, 1);
}

TEST(Launcher, MpirunIsFound) {
  const Launcher l = launcher({{"OMPI_COMM_WORLD_RANK", "3"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  EXPECT_EQ(l.kind, LauncherKind::mpi);
  EXPECT_EQ(l.rank, 3);
  EXPECT_EQ(l.size, 4);
  EXPECT_EQ(l.local_rank, 1);
}

TEST(Launcher, TorchrunIsFoundWithItsAddress) {
  const Launcher l = launcher({{"RANK", "0"},
                               {"WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "0"},
                               {"MASTER_ADDR", "head-node"},
                               {"MASTER_PORT", "29500"}});
  EXPECT_EQ(l.kind, LauncherKind::torchrun);
  EXPECT_EQ(l.address, "head-node");
  EXPECT_EQ(l.port, 29500);
}

TEST(Launcher, ABatchShellOfSlurmIsNotALaunch) {
  EXPECT_EQ(launcher({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).kind,
            LauncherKind::none);
  const Launcher step = launcher({{"SLURM_PROCID", "5"},
                                  {"SLURM_STEP_NUM_TASKS", "8"},
                                  {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(step.kind, LauncherKind::slurm);
  EXPECT_EQ(step.rank, 5);
}

TEST(Launcher, SenselessVariablesAreRefused) {
  EXPECT_THROW(
      launcher({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
      Error);
  EXPECT_THROW(launcher({{"PMI_RANK", "zero"}, {"PMI_SIZE", "4"}}), Error);
}

}  // namespace
}  // namespace lockstep
