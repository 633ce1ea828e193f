// SPDX-License-Identifier: Apache-2.0
// What `lockstep advise` may be told, and what contradicts itself.
#pragma once

#include <string>

#include "cli/what_if.h"
#include "lockstep/core/table.h"

namespace lockstep::cli {

struct AdviseAsked {
  WhatIf what_if;
  double noise_scale = 0, lr = 0, epochs = 0, price = 0, budget = 0, target = 0;
  std::string deadline, from;
  Format format = Format::text;
};

// `asked` must live as long as the command.
void declare(Options& options, AdviseAsked& asked);

// Error{Fault::config} names the option.
void check_advise(const AdviseAsked& asked);

// 0: none was given.
double deadline_s(const AdviseAsked& asked);

}  // namespace lockstep::cli
