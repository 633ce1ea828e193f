// SPDX-License-Identifier: Apache-2.0
// What `lockstep doctor` finds: one line for each part of the machine, each
// with its state and, where something is wrong, what to do.
#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

enum class State { ok, warn, missing };

struct Finding {
  std::string part;  // "LibTorch", "clock"
  State state = State::ok;
  std::string found;        // what is there, as found
  std::string advice = {};  // what to do; empty when all is well
  // Training on the CPU cannot work while this is missing.
  bool needed = false;
};

using Findings = std::vector<Finding>;

// doctor_machine.cpp: cores and quota, memory, clock, disk, MPI, data folders.
Findings examine_machine();
// doctor_gpu.cpp: GPU, driver, NCCL, through the driver's own libraries.
Findings examine_gpus();
// cli/train/doctor_torch.cpp; in a study build cli/study/doctor_torch.cpp.
Findings examine_libtorch();

}  // namespace lockstep::cli
