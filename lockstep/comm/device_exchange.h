// SPDX-License-Identifier: Apache-2.0
// Collectives of a thread group on tensors that are not in the CPU's memory:
// at:: operations on a stream of their own, ordered against the ranks' streams
// by events, so that neither the host nor a rank's computation waits.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <optional>
#include <span>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/comm/layout.h"

namespace lockstep {

// True when the tensors of this call are not in the CPU's memory.
bool on_device(const Call& call);

c10::Stream current_stream(c10::Device device);

// The collective as whole-tensor operations on the current streams. Sums are
// taken in rank order on the first rank's device.
void exchange_tensors(const Layout& layout, std::span<const Call> calls);

// The streams that a group's transfers use, one a device, and a moment known
// on both clocks. Used by one thread at a time.
class DeviceLane {
 public:
  c10::Stream stream_on(c10::Device device);
  // When `event` was reached, on now_s()'s clock; waits for it.
  double seconds(const c10::Event& event) const;

 private:
  std::vector<c10::Stream> streams_;
  std::optional<c10::Event> anchor_;
  double anchor_s_ = 0;
};

// The device side of one collective.
class DeviceExchange {
 public:
  // In the rank's own thread: its values are ready at this point of its
  // current stream.
  void arrive(const Call& call);
  // When all have arrived.
  void run(DeviceLane& lane, const Layout& layout, std::span<const Call> calls);
  // In the rank's own thread: its current stream goes on after the transfer.
  void follow(const Call& call) const;
  TransferTimes times(const DeviceLane& lane) const;

 private:
  std::vector<c10::Event> arrived_, done_;  // done_: one a device
  std::optional<c10::Event> begin_, end_;
};

}  // namespace lockstep
