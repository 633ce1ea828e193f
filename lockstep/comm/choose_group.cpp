// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/choose_group.h"

#include <fmt/format.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse_setting(const std::string& where,
                                 const std::string& what,
                                 const std::string& hint) {
  throw Error(Fault::config, where, what, hint);
}

CommKind under_launcher(CommKind asked, const Launcher& launcher, bool gpu) {
  const std::string name = to_text(launcher.kind);
  const bool alone = asked == CommKind::threads || asked == CommKind::emulated;
  if (alone && launcher.size > 1)
    refuse_setting(
        "comm.kind",
        fmt::format("{} started {} processes; this group is for one", name,
                    launcher.size),
        "start the program without the launcher, or leave comm.kind at "
        "auto");
  const CommKind kind = asked != CommKind::automatic ? asked
                        : gpu                        ? CommKind::nccl
                                                     : CommKind::mpi;
  if (kind == CommKind::mpi && launcher.kind == LauncherKind::torchrun)
    refuse_setting("comm.kind", "torchrun does not start MPI jobs",
                   "use mpirun on the CPU, or train on GPUs");
  return kind;
}

}  // namespace

GroupChoice choose_group(CommKind asked,
                         std::optional<std::int64_t> asked_ranks,
                         const Launcher& launcher, bool gpu) {
  if (launcher.kind == LauncherKind::none) {
    if (asked == CommKind::mpi)
      refuse_setting("comm.kind", "no launcher started this process",
                     "mpirun -n N lockstep train RECIPE");
    const CommKind kind =
        asked == CommKind::automatic ? CommKind::threads : asked;
    return {kind, static_cast<int>(asked_ranks.value_or(1))};
  }
  if (asked_ranks && *asked_ranks != launcher.size)
    refuse_setting("comm.ranks",
                   fmt::format("{} were asked for, {} started {}", *asked_ranks,
                               to_text(launcher.kind), launcher.size),
                   "leave --ranks to the launcher");
  return {under_launcher(asked, launcher, gpu), launcher.size};
}

}  // namespace lockstep
