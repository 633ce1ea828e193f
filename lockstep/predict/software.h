// SPDX-License-Identifier: Apache-2.0
// What software adds to the device's own time, as stated parameters: a
// framework is a row here, never a special case in code.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct Software {
  std::string name;
  // Host work of one step, and of one layer in one direction. The device waits
  // for it where it is longer than the device's own work.
  double step_s = 0, layer_s = 0;
  // Host work of one message beyond what the link's curve holds.
  double message_s = 0;
  // Times a gradient is copied into or out of its bucket.
  int bucket_copies = 0;
  // data_parallel: replicas of one process take turns on the host.
  bool replicas_share_host = false;
  // The kernels of docs/gpu.md run, not the library's alone.
  bool own_kernels = false;
};

// lockstep (piece by piece) and lockstep-graph (its step as one CUDA graph),
// pytorch (eager, Python) and graph (PyTorch's step as one CUDA graph).
// Fitted on one H200; docs/numbers.md has the figures.
const std::vector<Software>& software_presets();
const Software& find_software(const std::string& name);

}  // namespace lockstep
