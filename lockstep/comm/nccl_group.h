// SPDX-License-Identifier: Apache-2.0
// Ranks with a GPU each: processes that mpirun, srun or torchrun started, or
// one rank alone. The group itself is in liblockstep_cuda.so; here its ranks
// find each other.
#pragma once

#include <functional>

#include "lockstep/comm/group.h"
#include "lockstep/comm/launcher.h"
#include "lockstep/comm/thread_group.h"

namespace lockstep {

// Runs `body` in this process as its rank, on GPU number `device`. Sums are
// taken in NCCL's order and in the type that is sent. NCCL refuses two ranks
// on one GPU: throws Error{Fault::config} for several without a launcher.
void run_nccl_ranks(int ranks, int device, const Launcher& launcher,
                    const RankOptions& options,
                    const std::function<void(Group&)>& body);

}  // namespace lockstep
