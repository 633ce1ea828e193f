// SPDX-License-Identifier: Apache-2.0
// The options that predict and advise share: on what, how many, how.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "lockstep/predict/grid.h"

namespace lockstep::cli {

struct WhatIf {
  std::string subject, hardware, device, link, ranks, batch, strategy, scaling,
      wire, software = "auto", precision;
  std::int64_t per_node = 8, accumulate = 0, samples = 0;
  double input_rate = 0, compression = 1;
};

// `what_if` must live as long as the command.
void declare(Options& options, WhatIf& what_if);

// The recipe, profile or model, with the precision asked for.
Subject subject_of(const WhatIf& what_if);
// Every combination that was asked for. Error{Fault::config} names the option.
Grid grid_of(const WhatIf& what_if, const Subject& subject);

}  // namespace lockstep::cli
