// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/clock.h"

#include <fmt/chrono.h>

namespace lockstep {

std::string utc_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace lockstep
