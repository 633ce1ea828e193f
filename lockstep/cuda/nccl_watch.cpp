// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/nccl_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kEvery(20);

}  // namespace

NcclWatch::NcclWatch(ncclComm_t comm, double deadline_s)
    : comm_(comm), deadline_s_(deadline_s), thread_([this] { watch(); }) {}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard hold(lock_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  // Destroying waits for all ranks: not when one of them is lost.
  if (broken_.empty()) ncclCommDestroy(comm_);
}

void NcclWatch::add(std::shared_ptr<NcclEvents> message) {
  const std::lock_guard hold(lock_);
  open_.push_back(std::move(message));
}

void NcclWatch::check_sound() {
  const std::lock_guard hold(lock_);
  if (!broken_.empty())
    throw Error(Fault::peer, "nccl", broken_,
                "the last checkpoint goes on with lockstep train --resume");
}

void NcclWatch::watch() {
  std::unique_lock hold(lock_);
  while (!over_ && broken_.empty()) {
    broken_ = look();
    if (!broken_.empty()) ncclCommAbort(comm_);
    changed_.wait_for(hold, kEvery);
  }
}

std::string NcclWatch::look() {
  ncclResult_t state = ncclSuccess;
  ncclCommGetAsyncError(comm_, &state);
  if (state != ncclSuccess && state != ncclInProgress)
    return fmt::format("a rank failed: {}", ncclGetErrorString(state));
  while (!open_.empty() && open_.front()->end.query()) {
    open_.pop_front();
    ready_since_s_ = 0;
  }
  // The host runs ahead of the device: time counts from when it could begin.
  if (open_.empty() || !open_.front()->ready.query()) return {};
  if (ready_since_s_ == 0) ready_since_s_ = now_s();
  if (now_s() - ready_since_s_ < deadline_s_) return {};
  return fmt::format("a rank did not answer within {} s", deadline_s_);
}

}  // namespace lockstep
