// SPDX-License-Identifier: Apache-2.0
// Where the ranks of one process meet: exchanges wait here for the last rank,
// anybody who waits helps with the work, and the first failure, or a rank that
// stays silent past the deadline, reaches everybody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lockstep/comm/exchange.h"

namespace lockstep {

// One rank's handle of an exchange.
class ThreadTransfer final : public Transfer {
 public:
  std::shared_ptr<Exchange> exchange = {};
  double issued_s = 0;
};

class Meeting {
 public:
  Meeting(int ranks, double deadline_s);

  int ranks() const { return static_cast<int>(members_.size()); }
  double deadline_s() const { return deadline_s_; }

  std::shared_ptr<ThreadTransfer> post(int rank, const Call& call);
  void wait(int rank, ThreadTransfer& transfer);
  TransferTimes times(const ThreadTransfer& transfer);

  // Works on what is ready until stop(): the body of a helper thread.
  void help();
  void stop();

  // The rank's body ended, well or with an error. From then on whoever needs
  // it gets Error{Fault::peer}.
  void leave(int rank, std::exception_ptr error, const std::string& why);
  // Until all ranks have left. Once something is broken, no longer than the
  // deadline, and not for a rank that was silent. True for those that left.
  std::vector<bool> wait_for_all();
  // What broke the meeting first, or nothing.
  std::exception_ptr error();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Member {
    std::int64_t num_posted = 0;
    bool left = false, silent = false;
  };

  // All but spin() are called with the mutex held.
  Exchange& open(std::int64_t number);
  void set_off(Lock& lock, Exchange& exchange);
  std::shared_ptr<Exchange> find_work(std::int64_t up_to) const;
  void work_on(Lock& lock, Exchange& exchange);
  void finish(Exchange& exchange);
  void expect_all(const Exchange& exchange);
  void give_up_on(const Exchange& exchange, int rank);
  void blame(int rank, std::exception_ptr error, const std::string& why);
  void throw_if_broken() const;
  void tell_all();
  bool everybody_left() const;
  bool spin(std::uint64_t seen) const;

  const double deadline_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> version_ = 0;  // counts what changed_ tells
  std::vector<Member> members_;
  std::deque<std::shared_ptr<Exchange>> open_;  // consecutive numbers
  DeviceLane lane_;
  bool stopped_ = false;
  std::exception_ptr error_;
  int culprit_ = -1;
  std::string why_;
};

}  // namespace lockstep
