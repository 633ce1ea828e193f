// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/device_spec.h"

#include <algorithm>

#include "lockstep/hardware/sane.h"

namespace lockstep {

double DeviceSpec::peak_flops(Precision precision) const {
  switch (precision) {
    case Precision::fp32:
      return fp32_flops;
    case Precision::tf32:
      return std::max(fp32_flops, tf32_flops);
    case Precision::bf16:
      return std::max(fp32_flops, half_flops);
  }
  return fp32_flops;
}

void validate(const DeviceSpec& d) {
  const std::string where = "device '" + d.name + "'";
  check_sane(where, "fp32_flops", d.fp32_flops, {1e9, 1e18});
  check_sane(where, "tf32_flops", d.tf32_flops, {0, 1e18});
  check_sane(where, "half_flops", d.half_flops, {0, 1e19});
  check_sane(where, "memory_bytes", static_cast<double>(d.memory_bytes),
             {1e6, 1e14});
  check_sane(where, "memory_bytes_per_s", d.memory_bytes_per_s, {1e8, 1e15});
  check_sane(where, "host_bytes_per_s", d.host_bytes_per_s, {0, 1e13});
  check_sane(where, "nvlink_bytes_per_s", d.nvlink_bytes_per_s, {0, 1e14});
  check_sane(where, "kernel_floor_s", d.kernel_floor_s, {0, 1});
}

}  // namespace lockstep
