// SPDX-License-Identifier: Apache-2.0
// Carries out the collectives of one process of several. Whoever waits drives
// the messages; while nobody waits a thread of its own does, so that they move
// beside the computation.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/comm/leg.h"

namespace lockstep {

// What each rank tells the others before a collective: they must agree.
struct Announcement {
  std::int64_t number = 0, op = 0, type = 0, root = 0, numel = 0;
  bool operator==(const Announcement&) const = default;
};

class ProcessTransfer final : public Transfer {
 public:
  Call call = {};
  Course course = {};
  Announcement mine = {};
  std::vector<Announcement> theirs = {};
  std::vector<Pending> announcing = {};
  std::int64_t next_round = 0, rounds_done = 0;
  TransferTimes times = {};
  bool finished = false;
};

class ProcessEngine {
 public:
  // `wire` must outlive the engine.
  ProcessEngine(MpiWire& wire, double deadline_s);
  ~ProcessEngine();

  std::shared_ptr<ProcessTransfer> post(const Call& call);
  void wait(const std::shared_ptr<ProcessTransfer>& transfer);

  // This rank cannot go on: the others are told why, as far as they can be.
  void tell_failure(const std::string& why) noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Notice = std::array<char, 512>;

  // All with the mutex held.
  void serve();
  bool step();
  bool step_or_break();
  bool idle() const { return open_.empty(); }
  void launch_legs();
  bool advance_legs();
  bool read_announcements(ProcessTransfer& transfer);
  void compare(const ProcessTransfer& transfer) const;
  void read_notices();
  bool retire();
  void give_up_on(const ProcessTransfer& transfer);
  void throw_if_broken() const;
  void nap(Lock& lock, double idle_s);

  MpiWire& wire_;
  const double deadline_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<ProcessTransfer>> open_;  // in order, not finished
  struct Running {
    std::shared_ptr<ProcessTransfer> transfer;
    Leg leg;
  };
  std::list<Running> legs_;
  std::vector<std::vector<std::byte>> spare_;  // scratch to use again
  std::vector<Notice> notices_;                // one a rank
  std::vector<Pending> listening_;
  std::int64_t num_posted_ = 0, num_legs_ = 0;
  int num_waiting_ = 0;
  bool stopped_ = false, told_ = false;
  std::exception_ptr broken_;
  std::thread thread_;
};

}  // namespace lockstep
