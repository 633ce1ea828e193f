// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/emulated_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "lockstep/comm/device_exchange.h"
#include "lockstep/comm/layout.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct EmulatedTransfer final : Transfer {
  TransferTimes times = {};
  std::optional<c10::Event> begin = {}, end = {};  // on a device
  c10::Device device = c10::Device(c10::kCPU);
};

// The system's timer is late by some 50 us: it wakes us early enough to look
// at the clock for the rest.
void sleep_until(double end_s) {
  constexpr double kEarly_s = 200e-6;
  const double rest_s = end_s - now_s() - kEarly_s;
  if (rest_s > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
  while (now_s() < end_s) std::this_thread::yield();
}

class EmulatedGroup final : public Group {
 public:
  EmulatedGroup(int ranks, LinkModel link, StreamDelay delay)
      : ranks_(ranks), link_(std::move(link)), delay_(std::move(delay)) {}

  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  std::string backend() const override { return "emulated"; }
  bool lets_capture() const override { return true; }

  TransferHandle start(const Call& call) override {
    auto transfer = std::make_shared<EmulatedTransfer>();
    transfer->times.issued_s = now_s();
    const Layout layout = layout_of(call, 0, ranks_);
    const double link_s = link_(call.op, layout.bytes(), ranks_);
    check(std::isfinite(link_s) && link_s >= 0, "a link takes some seconds");
    keep_own_share(call, layout);
    if (on_device(call))
      start_on_device(*transfer, call, link_s);
    else
      start_on_host(transfer->times, link_s);
    return transfer;
  }

  void wait(const TransferHandle& handle) override {
    const EmulatedTransfer& transfer = own(handle);
    if (transfer.end)
      transfer.end->block(current_stream(transfer.device));
    else
      sleep_until(transfer.times.end_s);
  }

  TransferTimes times(const TransferHandle& handle) override {
    TransferTimes out = own(handle).times;
    if (own(handle).end) {
      out.begin_s = lane_.seconds(*own(handle).begin);
      out.end_s = lane_.seconds(*own(handle).end);
    }
    return out;
  }

 private:
  static const EmulatedTransfer& own(const TransferHandle& handle) {
    const auto* mine = dynamic_cast<const EmulatedTransfer*>(handle.get());
    check(mine != nullptr, "a transfer belongs to the group that started it");
    return *mine;
  }

  void start_on_host(TransferTimes& times, double link_s) {
    times.begin_s = std::max(times.issued_s, busy_until_s_);
    times.end_s = busy_until_s_ = times.begin_s + link_s;
  }

  void start_on_device(EmulatedTransfer& transfer, const Call& call,
                       double link_s) {
    if (!delay_)
      throw Error(Fault::device, "comm.kind",
                  "emulated messages on this device need its library");
    transfer.device = call.tensor.device();
    const c10::Stream lane = lane_.stream_on(transfer.device);
    const c10::DeviceType type = transfer.device.type();
    c10::Event ready(type);
    ready.record(current_stream(transfer.device));
    ready.block(lane);
    transfer.begin.emplace(type, c10::EventFlag::BACKEND_DEFAULT);
    transfer.begin->record(lane);
    delay_(lane, link_s);
    transfer.end.emplace(type, c10::EventFlag::BACKEND_DEFAULT);
    transfer.end->record(lane);
  }

  // Rank 0's share is the first; it is the only one that exists.
  static void keep_own_share(const Call& call, const Layout& layout) {
    if (layout.begin.empty() || layout.share(0) == 0) return;
    const at::Tensor from = call.input.flatten().slice(0, 0, layout.share(0));
    const at::Tensor to = call.tensor.flatten().slice(0, 0, layout.share(0));
    if (from.data_ptr() != to.data_ptr()) to.copy_(from, true);
  }

  int ranks_;
  LinkModel link_;
  StreamDelay delay_;
  DeviceLane lane_;
  double busy_until_s_ = 0;
};

}  // namespace

std::unique_ptr<Group> make_emulated_group(int ranks, LinkModel link,
                                           StreamDelay delay) {
  check(ranks > 0 && link, "an emulated group has ranks and a link");
  return std::make_unique<EmulatedGroup>(ranks, std::move(link),
                                         std::move(delay));
}

}  // namespace lockstep
