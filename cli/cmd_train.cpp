// SPDX-License-Identifier: Apache-2.0
// lockstep train RECIPE, lockstep train --resume DIR: what may be asked. What
// is done is train/train_action.cpp, or in a study build a refusal.
#include <memory>

#include "cli/commands.h"
#include "cli/train_asked.h"

namespace lockstep::cli {

std::function<int()> train(Options& options) {
  auto asked = std::make_shared<TrainAsked>();
  options.value("recipe", asked->recipe, "TOML file that describes the run");
  options.value("--out", asked->out,
                "run folder, new or empty; default: runs/<model>_<date>");
  options.value("--resume", asked->resume, "go on with this run folder");
  options.value("--ranks", asked->ranks, "replicas, the same as comm.ranks");
  options.list("--set", asked->sets, "section.field=value, may be repeated");
  options.flag("--advise", asked->advise,
               "measure this machine, then take ranks, strategy and batch as "
               "advised");
  options.value("--noise-scale", asked->noise_scale,
                "with --advise: gradient noise scale in samples; without it "
                "the recipe's batch stays");
  options.format(asked->format);
  return [asked] { return run_train(*asked); };
}

}  // namespace lockstep::cli
