// SPDX-License-Identifier: Apache-2.0
// Uses the installed study half: reads settings, without LibTorch.
#include <lockstep/config/run_config.h>
#include <lockstep/core/version.h>

#include <cstdio>

int main() {
  const lockstep::RunConfig config =
      lockstep::parse_config("[batch]\nper_rank = 7\n", "recipe", {});
  std::printf("%s %d\n", lockstep::version_text().c_str(),
              static_cast<int>(config.batch.per_rank));
}
