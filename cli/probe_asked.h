// SPDX-License-Identifier: Apache-2.0
// What `lockstep probe` was told, the same in both builds.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/table.h"

namespace lockstep::cli {

struct ProbeAsked {
  std::string out, device = "cpu", ranks, link;
  std::int64_t threads = 0;
  Format format = Format::text;
};

// The exit code.
int run_probe(const ProbeAsked& asked);

}  // namespace lockstep::cli
