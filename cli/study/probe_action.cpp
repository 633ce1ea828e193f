// SPDX-License-Identifier: Apache-2.0
// Measuring a machine needs LibTorch: one line, exit code 2.
#include "cli/probe_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

int run_probe(const ProbeAsked&) {
  throw Error(Fault::config, "probe",
              "this is a study build, without the training half",
              "build with -DLOCKSTEP_TRAIN=ON (make build)");
}

}  // namespace lockstep::cli
