// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/version.h"

#include <fmt/format.h>

namespace lockstep {

std::string version_text() { return LOCKSTEP_VERSION; }

std::vector<std::pair<std::string, std::string>> versions() {
  return {
      {"lockstep", version_text()},
      {"compiler", fmt::format("g++ {}", __VERSION__)},
#ifdef NDEBUG
      {"build", "release"},
#else
      {"build", "debug"},
#endif
  };
}

}  // namespace lockstep
