// SPDX-License-Identifier: Apache-2.0
// The fused updates of update.h as a Device takes them: what it is told about
// runs becomes tables that lie on the GPU.
#pragma once

#include <list>
#include <utility>
#include <vector>

#include "lockstep/device/device.h"

namespace lockstep {

// On the current stream of the thread that calls, without waiting.
class GpuUpdates {
 public:
  void sgd(const UpdateArgs& args);
  void adam(const UpdateArgs& args);
  void lars(const UpdateArgs& args);
  void lamb(const UpdateArgs& args);
  void put_rates(const UpdateArgs& args);

 private:
  // Runs cut into what a block updates. Kept for good: a captured update goes
  // on reading its tables.
  struct Tables {
    std::vector<UpdateRun> runs;
    at::Tensor chunks;   // [chunks, 2], UpdateChunk
    at::Tensor of_runs;  // [runs, 2], UpdateChunks
  };
  const Tables& tables_of(const UpdateArgs& args);
  template <class LaunchTrust, class LaunchStep>
  void adapted(const UpdateArgs& args, LaunchTrust launch_trust,
               LaunchStep launch_step);

  std::list<Tables> tables_;
};

}  // namespace lockstep
