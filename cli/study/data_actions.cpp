// SPDX-License-Identifier: Apache-2.0
// lockstep data in a build without the training half.
#include "cli/data_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

int run_data(const DataAsked&) {
  throw Error(Fault::config, "data",
              "this build studies records and does not read training data",
              "use a build with LibTorch (cmake -DLOCKSTEP_TRAIN=ON)");
}

}  // namespace lockstep::cli
