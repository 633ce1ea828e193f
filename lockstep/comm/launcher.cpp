// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/launcher.h"

#include <fmt/format.h>

#include <cstdlib>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

std::optional<int> number(const Environment& env, const char* name) {
  const std::optional<std::string> text = env(name);
  if (!text) return std::nullopt;
  const std::optional<int> value = parse_number<int>(*text);
  if (!value)
    throw Error(Fault::config, name,
                fmt::format("'{}' is not a whole number", *text),
                "the launcher sets it; unset it to run without one");
  return value;
}

struct Names {
  LauncherKind kind;
  const char *rank, *size, *local;
};

// SLURM's own variables are also set in a job's batch shell, where nothing was
// launched: there SLURM_STEP_NUM_TASKS is missing or 1.
constexpr Names kNames[] = {
    {LauncherKind::mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {LauncherKind::mpi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {LauncherKind::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {LauncherKind::slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID"}};

void check_rank(const Names& names, const Launcher& found) {
  if (found.size < 1 || found.rank < 0 || found.rank >= found.size)
    throw Error(
        Fault::config, names.rank,
        fmt::format("rank {} of {} does not exist", found.rank, found.size),
        fmt::format("{} and {} come from the launcher", names.rank,
                    names.size));
}

}  // namespace

Launcher find_launcher(const Environment& env) {
  for (const Names& names : kNames) {
    const std::optional<int> rank = number(env, names.rank);
    const std::optional<int> size = number(env, names.size);
    if (!rank || !size) continue;
    Launcher found{.kind = names.kind, .rank = *rank, .size = *size};
    check_rank(names, found);
    if (names.kind == LauncherKind::slurm && found.size == 1) continue;
    found.local_rank = number(env, names.local).value_or(0);
    if (names.kind == LauncherKind::torchrun) {
      found.address = env("MASTER_ADDR").value_or("");
      found.port = number(env, "MASTER_PORT").value_or(0);
      if (found.address.empty() || found.port == 0) continue;
    }
    return found;
  }
  return {};
}

Launcher find_launcher() {
  return find_launcher([](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  });
}

std::string to_text(LauncherKind kind) {
  switch (kind) {
    case LauncherKind::none:
      return "none";
    case LauncherKind::mpi:
      return "mpirun";
    case LauncherKind::slurm:
      return "srun";
    case LauncherKind::torchrun:
      return "torchrun";
  }
  check(false, "every launcher has a name");
  return {};
}

}  // namespace lockstep
