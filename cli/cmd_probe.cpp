// SPDX-License-Identifier: Apache-2.0
// lockstep probe: what may be asked. What is done is train/probe_action.cpp,
// or in a study build a refusal.
#include <memory>

#include "cli/commands.h"
#include "cli/probe_asked.h"

namespace lockstep::cli {

std::function<int()> probe(Options& options) {
  auto asked = std::make_shared<ProbeAsked>();
  options.value("--out", asked->out,
                "write a hardware file that predict and advise read");
  options.value("--device", asked->device, "cpu, cuda or cuda:N");
  options.value("--ranks", asked->ranks,
                "groups of so many threads to time: 2,4; under mpirun the job "
                "itself is the group");
  options.value("--threads", asked->threads,
                "cores a rank may use; default: all, shared out evenly");
  options.value("--link", asked->link,
                "preset that the link should be like: ethernet-10g");
  options.format(asked->format);
  return [asked] { return run_probe(*asked); };
}

}  // namespace lockstep::cli
