// SPDX-License-Identifier: Apache-2.0
// Which launcher started this process, by the variables it leaves behind. Only
// reads the environment; nothing is started here.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep {

enum class LauncherKind { none, mpi, slurm, torchrun };

// What the launcher says about this process.
struct Launcher {
  LauncherKind kind = LauncherKind::none;
  int rank = 0, size = 1;
  int local_rank = 0;        // among the ranks of this host
  std::string address = {};  // torchrun: where rank 0 listens
  int port = 0;
};

// A variable's text, or nothing; std::getenv outside of tests.
using Environment = std::function<std::optional<std::string>(const char*)>;

// Open MPI and other PMI launchers, then torchrun, then a SLURM job step of
// several tasks. Throws Error{Fault::config} when a launcher's variables
// contradict each other or are not numbers.
Launcher find_launcher(const Environment& environment);
Launcher find_launcher();

// "mpirun", "torchrun", "srun", "none": for records and messages.
std::string to_text(LauncherKind kind);

}  // namespace lockstep
