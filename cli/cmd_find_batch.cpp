// SPDX-License-Identifier: Apache-2.0
// lockstep find-batch RECIPE: what may be asked. What is done is
// train/find_batch_action.cpp, or in a study build a refusal.
#include <memory>

#include "cli/commands.h"
#include "cli/find_batch_asked.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

std::function<int()> find_batch(Options& options) {
  auto asked = std::make_shared<FindBatchAsked>();
  options.value("recipe", asked->recipe, "TOML file that describes the run",
                true);
  options.value("--ranks", asked->ranks, "replicas, the same as comm.ranks");
  options.value("--seconds", asked->seconds,
                "time for trials, at most about so long (90)");
  options.value("--memory-gb", asked->memory_gb,
                "CPU: use at most so many GB; default: what is free");
  options.list("--set", asked->sets, "section.field=value, may be repeated");
  options.format(asked->format);
  return [asked] {
    if (!(asked->seconds > 0) || asked->memory_gb < 0)
      throw Error(Fault::config, "find-batch",
                  "--seconds and --memory-gb are above zero");
    return run_find_batch(*asked);
  };
}

}  // namespace lockstep::cli
