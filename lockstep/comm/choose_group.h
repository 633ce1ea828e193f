// SPDX-License-Identifier: Apache-2.0
// Which group a run gets, from what was asked and who launched it. What was
// asked is what runs: anything that contradicts the launcher is refused.
#pragma once

#include <cstdint>
#include <optional>

#include "lockstep/comm/launcher.h"
#include "lockstep/config/comm.h"

namespace lockstep {

struct GroupChoice {
  CommKind kind = CommKind::threads;  // never automatic
  int ranks = 1;
};

// `asked_ranks`: what the recipe or --ranks says; nothing when neither does.
// `gpu`: the run trains on GPUs. Throws Error{Fault::config}.
GroupChoice choose_group(CommKind asked,
                         std::optional<std::int64_t> asked_ranks,
                         const Launcher& launcher, bool gpu);

}  // namespace lockstep
