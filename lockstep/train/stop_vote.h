// SPDX-License-Identifier: Apache-2.0
// Whether to stop, decided by all ranks together: a signal may reach one of
// them, or all at different steps. The vote travels while a step computes, so
// that nobody waits for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>

#include "lockstep/comm/group.h"

namespace lockstep {

class Recorder;

class StopVote {
 public:
  // All must outlive it.
  StopVote(Group& group, Recorder& recorder, const std::atomic<int>& stop);

  void begin();  // collective, at the beginning of a step
  bool end();    // collective, at its end: the same answer on every rank

 private:
  Group& group_;
  Recorder& recorder_;
  const std::atomic<int>& stop_;
  at::Tensor word_;
  TransferHandle under_way_;
};

}  // namespace lockstep
