// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernels/gpu_table.h"

#include <mutex>

namespace lockstep {
namespace {

// Ranks are threads and each opens the library: the first one fills it in.
struct Place {
  std::once_flag filled;
  GpuTable table;
};

Place& place() {
  static Place one;
  return one;
}

}  // namespace

void set_gpu_table(const GpuTable& table) {
  std::call_once(place().filled, [&] { place().table = table; });
}

const GpuTable& gpu_table() { return place().table; }

}  // namespace lockstep
