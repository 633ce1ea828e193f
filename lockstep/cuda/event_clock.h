// SPDX-License-Identifier: Apache-2.0
// Time on a GPU's stream: marks are CUDA events, read when they are long past.
// An event knows milliseconds in a float, so the base is set anew each time
// marks are forgotten: within an epoch the error stays below a microsecond.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "lockstep/measure/time_source.h"

namespace lockstep {

class EventClock {
 public:
  explicit EventClock(int device);
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  // The clock must outlive its source.
  TimeSource source();

 private:
  std::int64_t mark();
  double seconds(std::int64_t mark);
  void forget();

  int device_;
  cudaEvent_t base_ = nullptr;
  double base_s_ = 0;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

}  // namespace lockstep
