// SPDX-License-Identifier: Apache-2.0
// Training needs LibTorch: one line, exit code 2.
#include "cli/train_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

int run_train(const TrainAsked&) {
  throw Error(Fault::config, "train",
              "this is a study build, without the training half",
              "build with -DLOCKSTEP_TRAIN=ON (make build)");
}

}  // namespace lockstep::cli
