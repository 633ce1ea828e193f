// SPDX-License-Identifier: Apache-2.0
// Carries out planned messages: starts them, waits for them, and records each
// with its own times. What is sent is what was planned, or it is an error.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/sample.h"
#include "lockstep/plan/comm_plan.h"

namespace lockstep {

class Recorder;

// The planned messages that carry `payload`, in the order they start.
std::vector<Message> with_payload(const CommPlan& plan, Payload payload);

class Messages {
 public:
  // Both must outlive it.
  Messages(Group& group, Recorder& recorder)
      : group_(group), recorder_(recorder) {}

  // Never waits, so a gradient hook may call it, but for a broadcast or reduce
  // planned as a star: those are over when it returns. `bucket` is its number
  // in comm.csv. Ranks start the same messages in the same order.
  void start(const Message& planned, std::int64_t bucket, const Call& call);

  // Until everything that was started is there.
  void wait();

 private:
  struct Open {
    CommSample sample;
    Collective op;
    std::vector<TransferHandle> transfers;  // of a star several
    bool on_device = false;
  };
  void record(const Open& open);

  Group& group_;
  Recorder& recorder_;
  std::vector<Open> open_;
};

}  // namespace lockstep
