// SPDX-License-Identifier: Apache-2.0
// Reads the command line against the table of verbs and runs the one named.
#pragma once

#include <span>

#include "cli/command.h"

namespace lockstep::cli {

// The exit code. Wrong usage prints one line and is 2.
int parse_and_run(int argc, char** argv, std::span<const Command> commands);

}  // namespace lockstep::cli
