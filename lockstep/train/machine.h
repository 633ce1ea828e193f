// SPDX-License-Identifier: Apache-2.0
// machine.json of a run: where it ran.
#pragma once

#include "lockstep/core/json.h"

namespace lockstep {

class Device;

Json machine_json(Device& device);

}  // namespace lockstep
