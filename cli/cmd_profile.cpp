// SPDX-License-Identifier: Apache-2.0
// lockstep profile RECIPE: what may be asked. What is done is
// train/profile_action.cpp, or in a study build a refusal.
#include <memory>

#include "cli/commands.h"
#include "cli/profile_asked.h"

namespace lockstep::cli {

std::function<int()> profile(Options& options) {
  auto asked = std::make_shared<ProfileAsked>();
  options.value("recipe", asked->recipe, "TOML file that describes the run",
                true);
  options.value("--out", asked->out,
                "where the profile goes; default: profile.json");
  options.value("--batches", asked->batches,
                "sizes to time, two or more: 8,32; default: 1/4, 1/2 and all "
                "of the recipe's batch of one rank");
  options.value("--steps", asked->steps, "steps timed at each size");
  options.value("--ranks", asked->ranks,
                "so many at work at once, none sending: on a CPU ranks share "
                "its memory, and that is in the figures; default: 1");
  options.list("--set", asked->sets, "section.field=value, may be repeated");
  options.format(asked->format);
  return [asked] { return run_profile(*asked); };
}

}  // namespace lockstep::cli
