// SPDX-License-Identifier: Apache-2.0
// The LibTorch this process has loaded. Defined in cli/train/ and cli/study/.
#pragma once

#include <string>

namespace lockstep::cli {

// "2.11.0", as the loaded library says itself; empty in a study build.
std::string loaded_torch_version();

}  // namespace lockstep::cli
