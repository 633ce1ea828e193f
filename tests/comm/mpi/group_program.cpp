// SPDX-License-Identifier: Apache-2.0
// One rank of an MPI job, for the scripts in tests/comm: does what the first
// argument says, leaves with 0 or with the code that the CLI gives the error.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "lockstep/comm/agree.h"
#include "lockstep/comm/mpi_group.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "tests/comm/collective_cases.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

void say(const Group& g, const std::string& what) {
  std::fputs(fmt::format("{}/{} {}\n", g.rank(), g.size(), what).c_str(),
             stdout);
  std::fflush(stdout);
}

void all_reduce(Group& g, std::int64_t numel) {
  g.run({.op = Collective::all_reduce, .tensor = at::ones({numel})});
}

void run_cases(Group& g) {
  cases::check_all(g, {0, 1, 2, 31, 257});
  for (const std::int64_t numel : {600'001, 3'000'000}) {
    const at::Tensor t = cases::values(numel, at::kFloat, g.rank());
    g.run({.op = Collective::all_reduce, .tensor = t});
    cases::expect(t, cases::sum_of(numel, at::kFloat, g.size()), "all_reduce");
  }
  say(g, "ok");
}

// Started, then left alone: it must move while the rank does something else.
void overlap(Group& g) {
  at::Tensor t = at::ones({4'000'000});
  g.run({.op = Collective::barrier});
  const TransferHandle handle =
      g.start({.op = Collective::all_reduce, .tensor = t});
  std::this_thread::sleep_for(1500ms);
  const double back_s = now_s();
  g.wait(handle);
  const bool before = g.times(handle).end_s < back_s;
  say(g, before ? "moved while away" : "moved in wait");
}

void many(Group& g) {
  cases::check_many(g);
  say(g, "ok");
}

void timed(Group& g) {
  at::Tensor t = at::ones({2'000'000});
  g.run({.op = Collective::barrier});
  const TransferHandle handle =
      g.start({.op = Collective::all_reduce, .tensor = t});
  g.wait(handle);
  const TransferTimes times = g.times(handle);
  say(g, fmt::format("{:.6f}", times.end_s - times.begin_s));
}

void share(Group& g) {
  const bool same = agree(g, g.rank() == 0) && agree(g, 0.1 + g.rank()) == 0.1;
  const bool some = any_of(g, g.rank() == g.size() - 1) && !any_of(g, false);
  // One machine: the clocks are the same, so the offset is the error made.
  const ClockOffset clock = align_clocks(g);
  const bool close = std::abs(clock.offset_s) <= clock.error_s + 1e-9;
  say(g, same && some && close ? "ok" : "wrong");
}

void lose(Group& g, const std::string& how) {
  all_reduce(g, 100'000);
  if (g.rank() == g.size() - 1) {
    if (how == "throw") throw std::runtime_error("out of paper");
    if (how == "kill") ::kill(::getpid(), SIGKILL);
    if (how == "stop") ::pause();
  }
  all_reduce(g, 100'000);
}

void differ(Group& g) { all_reduce(g, 4 + g.rank()); }

void act(Group& g, const std::string& what) {
  if (what == "cases") return run_cases(g);
  if (what == "overlap") return overlap(g);
  if (what == "many") return many(g);
  if (what == "timed") return timed(g);
  if (what == "share") return share(g);
  if (what == "differ") return differ(g);
  lose(g, what);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "cases";
  const double deadline_s = argc > 2 ? std::atof(argv[2]) : 30;
  int rank = -1;
  try {
    lockstep::run_mpi_ranks({.deadline_s = deadline_s, .threads = 1},
                            [&](lockstep::Group& g) {
                              rank = g.rank();
                              lockstep::act(g, what);
                            });
  } catch (const lockstep::Error& error) {
    std::printf("%d left with 5 %s\n", rank, error.what());
    std::fflush(stdout);
    std::_Exit(error.fault() == lockstep::Fault::peer ? 5 : 1);
  } catch (const std::exception& error) {
    std::printf("%d left with 1 %s\n", rank, error.what());
    std::fflush(stdout);
    std::_Exit(1);
  }
  return 0;
}
