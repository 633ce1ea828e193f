// SPDX-License-Identifier: Apache-2.0
// Measuring a model needs LibTorch: one line, exit code 2.
#include "cli/profile_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

int run_profile(const ProfileAsked&) {
  throw Error(Fault::config, "profile",
              "this is a study build, without the training half",
              "build with -DLOCKSTEP_TRAIN=ON (make build), or profile a "
              "PyTorch module with tools/lockstep_profile.py");
}

}  // namespace lockstep::cli
