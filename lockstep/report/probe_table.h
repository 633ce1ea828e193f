// SPDX-License-Identifier: Apache-2.0
// "Is my bandwidth normal?": each figure of a probe beside the preset it was
// compared with.
#pragma once

#include "lockstep/core/table.h"
#include "lockstep/hardware/hardware_file.h"

namespace lockstep {

// `device` and `link` are the presets; null: nothing to compare with, and the
// table says so.
Table probe_table(const Hardware& measured, const DeviceSpec* device,
                  const Link* link);

}  // namespace lockstep
