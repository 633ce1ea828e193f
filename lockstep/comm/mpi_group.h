// SPDX-License-Identifier: Apache-2.0
// Ranks as processes that mpirun or srun started.
#pragma once

#include <functional>

#include "lockstep/comm/group.h"
#include "lockstep/comm/thread_group.h"

namespace lockstep {

// Runs `body` in this process as its rank of the MPI job and returns when all
// ranks are done. A rank that throws makes the others throw
// Error{Fault::peer}; its own error is thrown on here. After an error MPI is
// not ended: a lost rank would be waited for. End the process.
//
// `options.helpers` has no meaning here. Throws Error{Fault::config} in a build
// without MPI.
void run_mpi_ranks(const RankOptions& options,
                   const std::function<void(Group&)>& body);

}  // namespace lockstep
