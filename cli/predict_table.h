// SPDX-License-Identifier: Apache-2.0
// lockstep predict --table: the half of the verb that reads tables.
#pragma once

#include <string>

#include "cli/command.h"

namespace lockstep::cli {

struct TableAsked {
  std::string table, calibrate, out, fit, validate;

  bool any() const {
    return !table.empty() || !calibrate.empty() || !out.empty() ||
           !fit.empty() || !validate.empty();
  }
};

void declare(Options& options, TableAsked& asked);
int run(const TableAsked& asked);

}  // namespace lockstep::cli
