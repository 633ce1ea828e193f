// SPDX-License-Identifier: Apache-2.0
#include "cli/train/ranks.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "lockstep/comm/choose_group.h"
#include "lockstep/comm/mpi_group.h"
#include "lockstep/comm/nccl_group.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/error.h"
#include "lockstep/device/device.h"

namespace lockstep::cli {

std::vector<std::string> with_ranks(std::vector<std::string> sets,
                                    std::int64_t ranks) {
  if (ranks > 0) sets.push_back("comm.ranks=" + std::to_string(ranks));
  return sets;
}

RunConfig with_group(RunConfig config, std::int64_t ranks) {
  const bool said = ranks > 0 || config.comm.ranks > 1;
  const Launcher launcher = find_launcher();
  const GroupChoice choice = choose_group(
      config.comm.kind, said ? std::optional(config.comm.ranks) : std::nullopt,
      launcher, config.train.device != "cpu");
  config.comm.kind = choice.kind;
  // Each process of a host has a GPU of its own.
  if (choice.kind == CommKind::nccl && config.train.device == "cuda")
    config.train.device = fmt::format("cuda:{}", launcher.local_rank);
  config.comm.ranks = choice.ranks;
  config.strategy.kind = resolved(config.strategy.kind, choice.ranks);
  validate(config);
  return config;
}

void run_group(const RunConfig& config, std::function<void(Group&)> body) {
  const RankOptions options{.deadline_s = config.comm.deadline_s,
                            .threads = static_cast<int>(config.train.threads)};
  switch (config.comm.kind) {
    case CommKind::threads:
      return run_ranks(static_cast<int>(config.comm.ranks), options,
                       std::move(body));
    case CommKind::mpi:
      return run_mpi_ranks(options, body);
    case CommKind::emulated:
      return run_ranks(1, options, std::move(body));
    case CommKind::nccl:
      return run_nccl_ranks(static_cast<int>(config.comm.ranks),
                            open_device(config.train.device)->torch().index(),
                            find_launcher(), options, body);
    case CommKind::automatic:
      break;
  }
  check(false, "with_group() chose a group");
}

}  // namespace lockstep::cli
