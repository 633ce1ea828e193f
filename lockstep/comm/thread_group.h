// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: the default group. Nothing to install or
// launch; several ranks may share one GPU.
#pragma once

#include <functional>

#include "lockstep/comm/group.h"

namespace lockstep {

struct RankOptions {
  // How long a rank waits for another one before it counts as lost.
  double deadline_s = 60;
  // at:: threads of each rank; 0: the cores shared out evenly.
  int threads = 0;
  // Threads that move data while the ranks compute; -1: one, if the ranks
  // leave a core free. A rank that waits always works itself.
  int helpers = -1;
};

// Runs `body` once a rank, each in a thread of its own (one rank alone: in the
// caller's), and returns when all are done.
//
// A rank that throws makes the others throw Error{Fault::peer}. Thrown here is
// what came first: an Error as it is, anything else as Error{Fault::peer} that
// names the rank. A rank that never answers is left behind, still running:
// what `body` refers to must live on, or the program must end at once.
void run_ranks(int ranks, const RankOptions& options,
               std::function<void(Group&)> body);

}  // namespace lockstep
