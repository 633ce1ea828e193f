// SPDX-License-Identifier: Apache-2.0
// All-reduce between two ranks, ours: `comm_bench threads|mpi BYTES ROUNDS`
// prints one line a round, its seconds on rank 0. bench/comm.py runs it beside
// Open MPI's own.
#include <ATen/ATen.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lockstep/comm/mpi_group.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/core/clock.h"

namespace {

// Verified first, then timed from a barrier on; the buffer is kept, as a
// trainer keeps its gradients.
void measure(lockstep::Group& g, std::int64_t numel, int rounds) {
  at::Tensor t = at::full({numel}, 1.0 + g.rank());
  g.run({.op = lockstep::Collective::all_reduce, .tensor = t});
  const double want = g.size() * (g.size() + 1) / 2.0;
  if (!t.eq(want).all().item<bool>()) std::abort();
  std::vector<double> seconds;
  for (int i = 0; i < rounds + 3; ++i) {
    t.fill_(1);
    g.run({.op = lockstep::Collective::barrier});
    const double begin = lockstep::now_s();
    g.run({.op = lockstep::Collective::all_reduce, .tensor = t});
    if (i >= 3) seconds.push_back(lockstep::now_s() - begin);
  }
  if (g.rank() == 0)
    for (const double s : seconds) std::printf("%.9f\n", s);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: comm_bench threads|mpi BYTES ROUNDS\n", stderr);
    return 2;
  }
  const std::int64_t numel = std::atoll(argv[2]) / 4;
  const auto body = [numel, rounds = std::atoi(argv[3])](lockstep::Group& g) {
    measure(g, numel, rounds);
  };
  if (std::string(argv[1]) == "mpi")
    lockstep::run_mpi_ranks({.threads = 1}, body);
  else
    lockstep::run_ranks(2, {.threads = 1}, body);
}
