// SPDX-License-Identifier: Apache-2.0
// Settings of the `comm` section: who talks to whom, through what.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

enum class CommKind { automatic, threads, mpi, nccl, emulated };

struct CommConfig {
  CommKind kind = CommKind::automatic;
  std::int64_t ranks = 1;
  std::string link;
  double deadline_s = 60;
};

template <class Visitor>
void describe(Visitor& v, CommConfig& c) {
  v.choice("kind", c.kind, {"auto", "threads", "mpi", "nccl", "emulated"},
           "auto: MPI or NCCL under a launcher, else threads");
  v.number("ranks", c.ranks, {.min = 1, .max = 1 << 20},
           "how many replicas train together");
  v.text("link", c.link, "emulated: link preset; `lockstep hardware list`");
  v.real("deadline_s", c.deadline_s, {.min = 0.01, .max = 86400},
         "seconds after which a silent rank counts as lost");
}

}  // namespace lockstep
