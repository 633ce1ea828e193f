// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/process_engine.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Piece and window: large enough that a message's start costs little, small
// enough that adding one piece hides behind the transfer of the next.
constexpr std::int64_t kPieceBytes = 1 << 20;
constexpr std::size_t kWindow = 4;
constexpr std::chrono::microseconds kNap{50};
// A rank that waits looks again at once for this long, then naps in between.
constexpr double kBusy_s = 2e-3;

constexpr int kAnnounceTag = 1, kNoticeTag = 2, kLegTag = 3;
constexpr std::int64_t kLegTags = 8192;  // MPI promises tags up to 32767

Course course_of(const Call& call, int rank, int ranks) {
  Course out{.layout = layout_of(call, rank, ranks)};
  if (call.op == Collective::barrier) {
    out.layout.type = WireType::int64;
    out.layout.numel = call.tensor.numel();
  }
  out.path = path_of(call.op);
  out.rounds = rounds_of(out.layout, ranks, kPieceBytes);
  out.in = data_of(call.input.defined() ? call.input : call.tensor);
  out.out = data_of(call.tensor);
  return out;
}

void refuse_device(const Call& call) {
  for (const at::Tensor& t : {call.tensor, call.input})
    if (t.defined() && !t.device().is_cpu())
      throw Error(Fault::config, "comm.kind",
                  "the MPI group sends from the CPU's memory only",
                  "use nccl or threads for tensors on a GPU");
}

std::string text_of(const Announcement& a) {
  return fmt::format("{} of {} {} (root {}, number {})",
                     word(static_cast<Collective>(a.op)), a.numel,
                     word(static_cast<WireType>(a.type)), a.root, a.number);
}

}  // namespace

ProcessEngine::ProcessEngine(MpiWire& wire, double deadline_s)
    : wire_(wire),
      deadline_s_(deadline_s),
      notices_(static_cast<std::size_t>(wire.size())) {
  for (int r = 0; r < wire_.size(); ++r)
    if (r != wire_.rank()) {
      Notice& notice = notices_[static_cast<std::size_t>(r)];
      listening_.push_back(
          {wire_.receive(notice.data(), notice.size(), r, kNoticeTag), r});
    }
  thread_ = std::thread([this] { serve(); });
}

ProcessEngine::~ProcessEngine() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (broken_) return;
  for (const Pending& p : listening_) wire_.cancel(p.request);
}

std::shared_ptr<ProcessTransfer> ProcessEngine::post(const Call& call) {
  auto t = std::make_shared<ProcessTransfer>();
  t->times.issued_s = now_s();
  refuse_device(call);
  t->call = call;
  if (call.op == Collective::barrier)
    t->call.tensor = at::zeros({wire_.size()}, at::kLong);
  t->course = course_of(t->call, wire_.rank(), wire_.size());
  Lock lock(mutex_);
  throw_if_broken();
  const Layout& layout = t->course.layout;
  t->mine = {num_posted_++, static_cast<std::int64_t>(layout.op),
             static_cast<std::int64_t>(layout.type), layout.root, layout.numel};
  t->theirs.resize(static_cast<std::size_t>(wire_.size()), t->mine);
  for (int r = 0; r < wire_.size(); ++r) {
    if (r == wire_.rank()) continue;
    Announcement& his = t->theirs[static_cast<std::size_t>(r)];
    t->announcing.push_back(
        {wire_.receive(&his, sizeof his, r, kAnnounceTag), r});
    t->announcing.push_back(
        {wire_.send(&t->mine, sizeof t->mine, r, kAnnounceTag), r});
  }
  open_.push_back(t);
  step_or_break();
  changed_.notify_all();
  return t;
}

void ProcessEngine::wait(const std::shared_ptr<ProcessTransfer>& transfer) {
  Lock lock(mutex_);
  ++num_waiting_;
  try {
    for (double moved_s = now_s(); !transfer->finished;) {
      throw_if_broken();
      if (step_or_break()) {
        moved_s = now_s();
        continue;
      }
      const double idle_s = now_s() - moved_s;
      if (idle_s > deadline_s_) give_up_on(*transfer);
      nap(lock, idle_s);
    }
  } catch (...) {
    --num_waiting_;
    throw;
  }
  --num_waiting_;
  changed_.notify_all();
}

void ProcessEngine::nap(Lock& lock, double idle_s) {
  lock.unlock();
  if (idle_s < kBusy_s)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kNap);
  lock.lock();
}

void ProcessEngine::serve() {
  Lock lock(mutex_);
  while (!stopped_) {
    if (num_waiting_ > 0 || idle() || broken_)
      changed_.wait(lock);
    else if (!step_or_break())
      changed_.wait_for(lock, kNap);
    else
      nap(lock, 0);  // lets a rank that wants to post or wait in
  }
}

// An error is everybody's: the next call throws it too.
bool ProcessEngine::step_or_break() {
  try {
    return step();
  } catch (...) {
    if (!broken_) broken_ = std::current_exception();
    return true;
  }
}

bool ProcessEngine::step() {
  read_notices();
  bool moved = false;
  for (const auto& transfer : open_)
    if (!transfer->announcing.empty()) moved |= read_announcements(*transfer);
  launch_legs();
  moved |= advance_legs();
  moved |= retire();
  return moved;
}

bool ProcessEngine::read_announcements(ProcessTransfer& transfer) {
  const bool moved = drop_done(wire_, transfer.announcing);
  if (!transfer.announcing.empty()) return moved;
  transfer.times.begin_s = now_s();
  compare(transfer);
  return true;
}

void ProcessEngine::compare(const ProcessTransfer& transfer) const {
  for (std::size_t r = 0; r < transfer.theirs.size(); ++r)
    if (!(transfer.theirs[r] == transfer.mine))
      throw Error(
          Fault::internal, fmt::format("rank {}", r),
          fmt::format("calls {} where rank {} calls {}",
                      text_of(transfer.theirs[r]), wire_.rank(),
                      text_of(transfer.mine)),
          "every rank must start the same collectives in the same order");
}

void ProcessEngine::launch_legs() {
  for (const auto& t : open_)
    while (t->next_round < t->course.rounds.num) {
      if (legs_.size() >= kWindow) return;
      std::vector<std::byte> scratch;
      if (!spare_.empty()) {
        scratch = std::move(spare_.back());
        spare_.pop_back();
      }
      const int tag = kLegTag + 2 * static_cast<int>(num_legs_++ % kLegTags);
      legs_.push_back(
          {t, Leg(wire_, t->course, t->next_round++, tag, std::move(scratch))});
    }
}

bool ProcessEngine::advance_legs() {
  bool moved = false;
  for (auto it = legs_.begin(); it != legs_.end();) {
    moved |= it->leg.advance();
    if (!it->leg.finished()) {
      ++it;
      continue;
    }
    ++it->transfer->rounds_done;
    spare_.push_back(it->leg.take_scratch());
    it = legs_.erase(it);
  }
  return moved;
}

bool ProcessEngine::retire() {
  bool some = false;
  while (!open_.empty()) {
    ProcessTransfer& t = *open_.front();
    if (t.rounds_done < t.course.rounds.num || !t.announcing.empty()) break;
    t.times.end_s = now_s();
    t.finished = true;
    open_.pop_front();
    some = true;
  }
  return some;
}

void ProcessEngine::read_notices() {
  for (std::size_t i = 0; i < listening_.size(); ++i) {
    if (!wire_.done(listening_[i].request)) continue;
    const int from = listening_[i].peer;
    const Notice& notice = notices_[static_cast<std::size_t>(from)];
    listening_.erase(listening_.begin() + static_cast<std::ptrdiff_t>(i));
    told_ = true;
    throw Error(
        Fault::peer, fmt::format("rank {}", from),
        std::string(notice.data(), strnlen(notice.data(), notice.size())),
        "the other ranks cannot go on without it");
  }
}

void ProcessEngine::tell_failure(const std::string& why) noexcept try {
  const Lock lock(mutex_);
  if (told_) return;  // they heard it from the same rank
  if (!broken_)
    broken_ = std::make_exception_ptr(Error(Fault::peer, "this rank", why));
  Notice notice{};
  why.copy(notice.data(), notice.size() - 1);
  std::vector<Pending> sending;
  for (const Pending& p : listening_)
    sending.push_back(
        {wire_.send(notice.data(), notice.size(), p.peer, kNoticeTag), p.peer});
  const double until = now_s() + std::min(1.0, deadline_s_);
  while (!sending.empty() && now_s() < until) {
    drop_done(wire_, sending);
    std::this_thread::yield();
  }
} catch (const std::exception&) {
  // A connection is gone too: its rank finds out by itself. What broke this
  // rank first is what its caller must hear.
}

void ProcessEngine::give_up_on(const ProcessTransfer& transfer) {
  int silent = wire_.rank();
  for (const Running& running : legs_)
    if (running.leg.waits_for() >= 0) silent = running.leg.waits_for();
  for (const Pending& p : transfer.announcing) silent = p.peer;
  const Error error(Fault::peer, fmt::format("rank {}", silent),
                    fmt::format("no answer for {} s in {}", deadline_s_,
                                text_of(transfer.mine)),
                    "the other ranks cannot go on without it");
  broken_ = std::make_exception_ptr(error);
  throw error;
}

void ProcessEngine::throw_if_broken() const {
  if (broken_) std::rethrow_exception(broken_);
}

}  // namespace lockstep
