// SPDX-License-Identifier: Apache-2.0
// Looks after what NCCL has under way. A message whose values are ready and
// that does not end within the deadline, or an error NCCL reports, ends the
// communicator: kernels that wait for a lost rank return, and whoever asks
// next is told.
#pragma once

#include <c10/core/Event.h>
#include <nccl.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep {

// The events of one message: values ready, transfer begun, transfer ended.
struct NcclEvents {
  explicit NcclEvents(c10::DeviceType type)
      : ready(type),
        begin(type, c10::EventFlag::BACKEND_DEFAULT),
        end(type, c10::EventFlag::BACKEND_DEFAULT) {}
  c10::Event ready, begin, end;
};

class NcclWatch {
 public:
  NcclWatch(ncclComm_t comm, double deadline_s);
  // Ends the communicator when the watch has not already.
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  void add(std::shared_ptr<NcclEvents> message);
  // Throws Error{Fault::peer} once the group is broken.
  void check_sound();

 private:
  void watch();
  // What is wrong with the oldest message, or empty. Forgets what has ended.
  std::string look();

  ncclComm_t comm_;
  double deadline_s_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<NcclEvents>> open_;
  double ready_since_s_ = 0;  // of the oldest; 0: its values are not there yet
  std::string broken_;        // why; empty while sound
  bool over_ = false;
  std::thread thread_;
};

}  // namespace lockstep
