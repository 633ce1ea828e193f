// SPDX-License-Identifier: Apache-2.0
// What the program knows of hardware, as tables.
#pragma once

#include <string>

#include "lockstep/core/table.h"

namespace lockstep {

// Every preset: devices, links, clusters.
Table hardware_list();

// All that is known of one: a device, a link or a cluster by name, in this
// order, or a hardware file. Error{Fault::config} when it is none.
Table hardware_show(const std::string& name);

}  // namespace lockstep
