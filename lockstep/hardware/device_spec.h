// SPDX-License-Identifier: Apache-2.0
// What a device can do at best, as its maker states it: peaks per precision,
// memory, links. Not what a model reaches on it: predict/ knows efficiencies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/config/train.h"

namespace lockstep {

// Seconds between the starts of two kernels in one captured CUDA graph: the
// floor a device cannot go below. Set by hand, with the roofline's
// efficiencies, on PyTorch 2.11's steps on one H200.
constexpr double kKernelFloorS = 6e-6;

struct DeviceSpec {
  std::string name;
  std::vector<std::string> other_names = {};
  std::string arch = {};
  // Zero: the device has no such unit.
  double fp32_flops = 0, tf32_flops = 0, half_flops = 0;
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  double host_bytes_per_s = 0;    // pinned host memory to device
  double nvlink_bytes_per_s = 0;  // one direction, all links; 0: none
  double kernel_floor_s = kKernelFloorS;
  bool gpu = false;  // can record a step and replay it
  std::string source = {};

  // A device without that unit runs at fp32.
  double peak_flops(Precision precision) const;
};

// Throws Error{Fault::config} for numbers no device has (negative, NaN, a
// petabyte a second).
void validate(const DeviceSpec& device);

}  // namespace lockstep
