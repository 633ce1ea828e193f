// SPDX-License-Identifier: Apache-2.0
#include "lockstep/cuda/event_clock.h"

#include <c10/cuda/CUDAStream.h>

#include "lockstep/core/clock.h"
#include "lockstep/cuda/cuda_check.h"

namespace lockstep {

EventClock::EventClock(int device) : device_(device) {
  cuda_check(cudaEventCreate(&base_), "event");
  forget();
}

EventClock::~EventClock() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  cudaEventDestroy(base_);
}

TimeSource EventClock::source() {
  return {.mark = [this] { return mark(); },
          .seconds = [this](std::int64_t m) { return seconds(m); },
          .forget = [this] { forget(); },
          .in_stream = true};
}

std::int64_t EventClock::mark() {
  if (used_ == events_.size())
    cuda_check(cudaEventCreate(&events_.emplace_back()), "event");
  const auto stream =
      c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device_));
  cuda_check(cudaEventRecord(events_[used_], stream.stream()), "event record");
  return static_cast<std::int64_t>(used_++);
}

double EventClock::seconds(std::int64_t mark) {
  cudaEvent_t event = events_[static_cast<std::size_t>(mark)];
  cuda_check(cudaEventSynchronize(event), "event");
  float ms = 0;
  cuda_check(cudaEventElapsedTime(&ms, base_, event), "event time");
  return base_s_ + static_cast<double>(ms) * 1e-3;
}

void EventClock::forget() {
  used_ = 0;
  cuda_check(cudaDeviceSynchronize(), "synchronize");
  const auto stream =
      c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device_));
  base_s_ = now_s();
  cuda_check(cudaEventRecord(base_, stream.stream()), "event record");
  cuda_check(cudaEventSynchronize(base_), "event");
}

}  // namespace lockstep
