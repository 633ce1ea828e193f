// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/thread_group.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "lockstep/comm/meeting.h"
#include "lockstep/core/cores.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

class ThreadGroup final : public Group {
 public:
  ThreadGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.ranks(); }
  std::string backend() const override { return "threads"; }

  TransferHandle start(const Call& call) override {
    return meeting_.post(rank_, call);
  }
  void wait(const TransferHandle& transfer) override {
    meeting_.wait(rank_, own(transfer));
  }
  TransferTimes times(const TransferHandle& transfer) override {
    return meeting_.times(own(transfer));
  }

 private:
  static ThreadTransfer& own(const TransferHandle& transfer) {
    auto* mine = dynamic_cast<ThreadTransfer*>(transfer.get());
    check(mine != nullptr, "a transfer belongs to the group that started it");
    return *mine;
  }

  Meeting& meeting_;
  int rank_;
};

// Shared by all threads: a rank that is left behind still needs it.
struct Session {
  Session(int ranks, double deadline_s, std::function<void(Group&)> what)
      : meeting(ranks, deadline_s), body(std::move(what)) {}
  Meeting meeting;
  std::function<void(Group&)> body;
};

void run_one(Session& session, int rank, int threads) {
  const std::string name = "rank " + std::to_string(rank);
  try {
    if (threads > 0) at::set_num_threads(threads);
    ThreadGroup group(session.meeting, rank);
    session.body(group);
    session.meeting.leave(rank, nullptr, "");
  } catch (const Error& error) {
    session.meeting.leave(rank, std::current_exception(),
                          std::string("failed: ") + error.what());
  } catch (const std::exception& error) {
    const Error lost(Fault::peer, name, std::string("failed: ") + error.what());
    session.meeting.leave(rank, std::make_exception_ptr(lost),
                          std::string("failed: ") + error.what());
  } catch (...) {
    const Error lost(Fault::peer, name, "failed");
    session.meeting.leave(rank, std::make_exception_ptr(lost), "failed");
  }
}

void run_alone(Session& session, int threads) {
  if (threads > 0) at::set_num_threads(threads);
  ThreadGroup group(session.meeting, 0);
  session.body(group);
}

void finish(Session& session, std::vector<std::thread>& ranks,
            std::vector<std::thread>& helpers) {
  const std::vector<bool> left = session.meeting.wait_for_all();
  for (std::size_t r = 0; r < ranks.size(); ++r)
    left[r] ? ranks[r].join() : ranks[r].detach();
  session.meeting.stop();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace

void run_ranks(int ranks, const RankOptions& options,
               std::function<void(Group&)> body) {
  check(ranks > 0, "a group has at least one rank");
  const auto session =
      std::make_shared<Session>(ranks, options.deadline_s, std::move(body));
  const int cores = core_count();
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, cores / ranks);
  if (ranks == 1) return run_alone(*session, options.threads);
  const int spare = cores > ranks * threads ? 1 : 0;
  std::vector<std::thread> helpers, members;
  for (int i = 0; i < (options.helpers < 0 ? spare : options.helpers); ++i)
    helpers.emplace_back([session] { session->meeting.help(); });
  for (int rank = 0; rank < ranks; ++rank)
    members.emplace_back(
        [session, rank, threads] { run_one(*session, rank, threads); });
  finish(*session, members, helpers);
  if (const std::exception_ptr error = session->meeting.error())
    std::rethrow_exception(error);
}

}  // namespace lockstep
