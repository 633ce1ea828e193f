// SPDX-License-Identifier: Apache-2.0
// The options that `batch` and `report` share: which devices, and how they are
// joined, a study of one device is to be continued on.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "lockstep/report/batch_report.h"

namespace lockstep::cli {

struct ClusterAsked {
  std::string link, hardware;
  std::int64_t per_node = 8;

  bool any() const { return !link.empty() || !hardware.empty(); }
};

// `asked` must live as long as the command.
void declare(Options& options, ClusterAsked& asked);

// The study's own device with --link, or --hardware. `devices` empty: 1, 2, 4
// and so on, up to 64 or as many as there are.
DevicesAsked devices_asked(const std::string& study, const ClusterAsked& asked,
                           const std::string& devices);

}  // namespace lockstep::cli
