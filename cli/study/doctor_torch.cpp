// SPDX-License-Identifier: Apache-2.0
// The study half has no LibTorch.
#include "cli/doctor.h"
#include "cli/torch_version.h"

namespace lockstep::cli {

std::string loaded_torch_version() { return {}; }

Findings examine_libtorch() {
  // Not `needed`: this binary does all it was built for.
  return {{.part = "LibTorch",
           .state = State::missing,
           .found = "a study build has none",
           .advice = "to train, build with -DLOCKSTEP_TRAIN=ON (make build)"}};
}

}  // namespace lockstep::cli
