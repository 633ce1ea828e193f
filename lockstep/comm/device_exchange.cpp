// SPDX-License-Identifier: Apache-2.0
#include "lockstep/comm/device_exchange.h"

#include <ATen/ops/add.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

c10::Device device_of(const Call& call) {
  return call.tensor.defined() ? call.tensor.device() : call.input.device();
}

c10::Event timed_event(c10::Device device) {
  return c10::Event(device.type(), c10::EventFlag::BACKEND_DEFAULT);
}

const at::Tensor& source(const Call& call) {
  return call.input.defined() ? call.input : call.tensor;
}

// Elements [begin, end) of all ranks' sources, added in rank order.
at::Tensor sum(std::span<const Call> calls, std::int64_t begin,
               std::int64_t end) {
  const at::Tensor& first = source(calls[0]);
  const auto piece = [&](const Call& call) {
    return source(call).flatten().slice(0, begin, end).to(first.device());
  };
  const bool narrow =
      first.scalar_type() == at::kHalf || first.scalar_type() == at::kBFloat16;
  at::Tensor out = piece(calls[0]).to(narrow ? at::kFloat : first.scalar_type(),
                                      /*non_blocking=*/true, /*copy=*/true);
  for (const Call& call : calls.subspan(1)) out.add_(piece(call));
  return out.to(first.scalar_type());
}

void put(const at::Tensor& to, const at::Tensor& from) {
  if (to.numel() > 0 && to.data_ptr() != from.data_ptr())
    to.flatten().copy_(from.flatten(), /*non_blocking=*/true);
}

}  // namespace

bool on_device(const Call& call) {
  if (!call.tensor.defined() && !call.input.defined()) return false;
  return !device_of(call).is_cpu();
}

void exchange_tensors(const Layout& layout, std::span<const Call> calls) {
  const auto root = static_cast<std::size_t>(layout.root);
  const auto slice = [&](const at::Tensor& whole, std::size_t r) {
    return whole.flatten().slice(0, layout.begin[r], layout.begin[r + 1]);
  };
  if (layout.op == Collective::all_reduce || layout.op == Collective::reduce) {
    const at::Tensor total = sum(calls, 0, layout.numel);
    for (std::size_t r = 0; r < calls.size(); ++r)
      if (layout.op == Collective::all_reduce || r == root)
        put(calls[r].tensor, total);
    return;
  }
  for (std::size_t r = 0; r < calls.size(); ++r) switch (layout.op) {
      case Collective::broadcast:
        put(calls[r].tensor, calls[root].tensor);
        break;
      case Collective::reduce_scatter:
        put(calls[r].tensor, sum(calls, layout.begin[r], layout.begin[r + 1]));
        break;
      case Collective::all_gather:
        for (const Call& call : calls)
          put(slice(call.tensor, r), calls[r].input);
        break;
      case Collective::scatter:
        put(calls[r].tensor, slice(calls[root].input, r));
        break;
      case Collective::gather:
        put(slice(calls[root].tensor, r), calls[r].input);
        break;
      default:
        break;
    }
}

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

c10::Stream DeviceLane::stream_on(c10::Device device) {
  for (const c10::Stream& s : streams_)
    if (s.device() == device) return s;
  const c10::impl::VirtualGuardImpl impl(device.type());
  streams_.push_back(impl.getStreamFromGlobalPool(device, true));
  if (!anchor_) {
    anchor_.emplace(timed_event(device));
    anchor_->record(streams_.back());
    anchor_->synchronize();
    anchor_s_ = now_s();
  }
  return streams_.back();
}

double DeviceLane::seconds(const c10::Event& event) const {
  event.synchronize();
  return anchor_s_ + anchor_->elapsedTime(event) * 1e-3;
}

void DeviceExchange::arrive(const Call& call) {
  const c10::Device device = device_of(call);
  arrived_.emplace_back(device.type());
  arrived_.back().record(current_stream(device));
}

void DeviceExchange::run(DeviceLane& lane, const Layout& layout,
                         std::span<const Call> calls) {
  std::vector<c10::Stream> streams;
  for (const Call& call : calls) {
    const c10::Stream stream = lane.stream_on(device_of(call));
    if (std::ranges::find(streams, stream) == streams.end())
      streams.push_back(stream);
  }
  for (const c10::Stream& stream : streams)
    for (const c10::Event& event : arrived_) event.block(stream);
  const c10::MultiStreamGuard guard(streams);
  const c10::Device first = device_of(calls[0]);
  begin_.emplace(timed_event(first));
  begin_->record(lane.stream_on(first));
  exchange_tensors(layout, calls);
  for (const c10::Stream& stream : streams) {
    done_.emplace_back(stream.device_type());
    done_.back().record(stream);
  }
  end_.emplace(timed_event(first));
  end_->record(lane.stream_on(first));
}

void DeviceExchange::follow(const Call& call) const {
  const c10::Stream stream = current_stream(device_of(call));
  for (const c10::Event& event : done_) event.block(stream);
}

TransferTimes DeviceExchange::times(const DeviceLane& lane) const {
  check(begin_ && end_, "times are read after the transfer was handed over");
  return {.begin_s = lane.seconds(*begin_), .end_s = lane.seconds(*end_)};
}

}  // namespace lockstep
