// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// A rank that is nearly there is met without going to sleep.
constexpr double kSpin_s = 50e-6;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

std::chrono::steady_clock::time_point after(double seconds) {
  using namespace std::chrono;
  return steady_clock::now() +
         duration_cast<steady_clock::duration>(duration<double>(seconds));
}

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

}  // namespace

Meeting::Meeting(int ranks, double deadline_s)
    : deadline_s_(deadline_s), members_(static_cast<std::size_t>(ranks)) {}

std::shared_ptr<ThreadTransfer> Meeting::post(int rank, const Call& call) {
  auto transfer = std::make_shared<ThreadTransfer>();
  transfer->issued_s = now_s();
  Lock lock(mutex_);
  throw_if_broken();
  Member& member = members_[static_cast<std::size_t>(rank)];
  Exchange& exchange = open(member.num_posted++);
  transfer->exchange = exchange.shared_from_this();
  try {
    if (exchange.join(rank, call)) set_off(lock, exchange);
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) lock.lock();
    blame(rank, std::current_exception(), error.what());
    throw;
  }
  return transfer;
}

// A rank never looks for an exchange that is gone: it ends after all joined.
Exchange& Meeting::open(std::int64_t number) {
  const std::int64_t first = open_.empty() ? number : open_.front()->number();
  const auto at = static_cast<std::size_t>(number - first);
  if (at == open_.size())
    open_.push_back(std::make_shared<Exchange>(ranks(), number));
  return *open_[at];
}

// What fits one chunk, or goes to a device, is done by the last rank at once.
void Meeting::set_off(Lock& lock, Exchange& exchange) {
  if (exchange.on_device()) {
    exchange.device().run(lane_, exchange.layout(), exchange.calls());
    finish(exchange);
  } else if (exchange.num_chunks() == 0) {
    exchange.begin_s = exchange.end_s = now_s();
    finish(exchange);
  } else if (exchange.num_chunks() == 1) {
    work_on(lock, exchange);
  } else {
    tell_all();
  }
}

std::shared_ptr<Exchange> Meeting::find_work(std::int64_t up_to) const {
  for (const std::shared_ptr<Exchange>& e : open_) {
    if (!e->ready() || e->number() > up_to) return nullptr;
    if (!e->claimed_out() && !e->on_device()) return e;
  }
  return nullptr;
}

void Meeting::work_on(Lock& lock, Exchange& exchange) {
  lock.unlock();
  const bool last = exchange.work();
  lock.lock();
  if (last) finish(exchange);
}

void Meeting::finish(Exchange& exchange) {
  exchange.finished = true;
  while (!open_.empty() && open_.front()->finished) open_.pop_front();
  tell_all();
}

void Meeting::wait(int rank, ThreadTransfer& transfer) {
  const std::shared_ptr<Exchange> exchange = transfer.exchange;
  const auto deadline = after(deadline_s_);
  Lock lock(mutex_);
  for (bool spun = false; !exchange->finished;) {
    throw_if_broken();
    if (const auto work = find_work(exchange->number())) {
      work_on(lock, *work);
      continue;
    }
    expect_all(*exchange);
    if (!spun) {
      const std::uint64_t seen = version_;
      lock.unlock();
      spun = !spin(seen);
      lock.lock();
      continue;
    }
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout)
      give_up_on(*exchange, rank);
  }
  if (exchange->on_device())
    exchange->device().follow(
        exchange->calls()[static_cast<std::size_t>(rank)]);
}

TransferTimes Meeting::times(const ThreadTransfer& transfer) {
  const Exchange& e = *transfer.exchange;
  check(e.finished, "times are read after wait()");
  TransferTimes out{.begin_s = e.begin_s, .end_s = e.end_s};
  if (e.on_device()) {
    const Lock lock(mutex_);
    out = transfer.exchange->device().times(lane_);
  }
  out.issued_s = transfer.issued_s;
  return out;
}

void Meeting::help() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (const auto work = find_work(kAll))
      work_on(lock, *work);
    else
      changed_.wait(lock);
  }
}

void Meeting::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  tell_all();
}

void Meeting::leave(int rank, std::exception_ptr error,
                    const std::string& why) {
  const Lock lock(mutex_);
  members_[static_cast<std::size_t>(rank)].left = true;
  if (error) blame(rank, std::move(error), why);
  tell_all();
}

bool Meeting::everybody_left() const {
  return std::ranges::all_of(
      members_, [](const Member& m) { return m.left || m.silent; });
}

std::vector<bool> Meeting::wait_for_all() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return everybody_left() || error_; });
  changed_.wait_until(lock, after(deadline_s_),
                      [&] { return everybody_left(); });
  std::vector<bool> left;
  for (const Member& member : members_) left.push_back(member.left);
  return left;
}

std::exception_ptr Meeting::error() {
  const Lock lock(mutex_);
  return error_;
}

// A rank whose body is over will never join.
void Meeting::expect_all(const Exchange& exchange) {
  for (int rank = 0; rank < ranks(); ++rank)
    if (!exchange.joined(rank) &&
        members_[static_cast<std::size_t>(rank)].left) {
      blame(rank, nullptr,
            fmt::format("ended before the others' {} (number {})",
                        to_text(exchange.layout()), exchange.number()));
      throw_if_broken();
    }
}

void Meeting::give_up_on(const Exchange& exchange, int rank) {
  if (exchange.finished || (exchange.ready() && find_work(exchange.number())))
    return;
  int absent = 0;
  while (absent < ranks() && exchange.joined(absent)) ++absent;
  const bool found = absent < ranks();
  if (found) members_[static_cast<std::size_t>(absent)].silent = true;
  blame(found ? absent : rank, nullptr,
        fmt::format("no answer for {} s in {} (number {})", deadline_s_,
                    to_text(exchange.layout()), exchange.number()));
  throw_if_broken();
}

// The first one counts: what follows is its consequence.
void Meeting::blame(int rank, std::exception_ptr error,
                    const std::string& why) {
  if (error_) return;
  culprit_ = rank;
  why_ = why;
  error_ =
      error ? std::move(error)
            : std::make_exception_ptr(Error(Fault::peer, rank_name(rank), why));
  tell_all();
}

void Meeting::throw_if_broken() const {
  if (!error_) return;
  throw Error(Fault::peer, rank_name(culprit_), why_,
              "the other ranks cannot go on without it");
}

void Meeting::tell_all() {
  ++version_;
  changed_.notify_all();
}

bool Meeting::spin(std::uint64_t seen) const {
  const double until = now_s() + kSpin_s;
  while (version_ == seen) {
    if (now_s() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace lockstep
