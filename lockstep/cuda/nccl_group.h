// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lockstep/comm/group.h"
#include "lockstep/device/cuda_entry.h"

namespace lockstep {

// Collective: returns when all ranks of the group are there.
std::unique_ptr<Group> make_nccl_group(const NcclRank& rank);

}  // namespace lockstep
