// SPDX-License-Identifier: Apache-2.0
// What this build is, for `lockstep version`, records and the check that the
// CUDA library belongs to the binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep {

// "0.1.0"
std::string version_text();

// Name and version of the program, its compiler and build type.

std::vector<std::pair<std::string, std::string>> versions();

}  // namespace lockstep
