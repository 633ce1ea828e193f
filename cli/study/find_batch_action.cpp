// SPDX-License-Identifier: Apache-2.0
// Trials need LibTorch: one line, exit code 2.
#include "cli/find_batch_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

int run_find_batch(const FindBatchAsked&) {
  throw Error(Fault::config, "find-batch",
              "this is a study build, without the training half",
              "build with -DLOCKSTEP_TRAIN=ON (make build)");
}

}  // namespace lockstep::cli
