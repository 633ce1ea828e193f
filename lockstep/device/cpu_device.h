// SPDX-License-Identifier: Apache-2.0
// The CPU as a Device.
#pragma once

#include <memory>

#include "lockstep/device/device.h"

namespace lockstep {

std::unique_ptr<Device> make_cpu_device();

}  // namespace lockstep
