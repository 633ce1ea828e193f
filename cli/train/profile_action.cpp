// SPDX-License-Identifier: Apache-2.0
// Measures what `lockstep profile` asks for, on one rank.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/lists.h"
#include "cli/profile_asked.h"
#include "lockstep/comm/thread_group.h"
#include "lockstep/device/memory.h"
#include "lockstep/report/profile_table.h"
#include "lockstep/train/profile.h"

namespace lockstep::cli {

int run_profile(const ProfileAsked& asked) {
  const RunConfig config = load_config(asked.recipe, asked.sets);
  ProfileOptions options{.batches = {}, .steps = asked.steps};
  if (!asked.batches.empty())
    options.batches = numbers_of("--batches", asked.batches);
  keep_freed_memory();
  Profile made;
  run_ranks(
      1,
      {.deadline_s = config.comm.deadline_s,
       .threads = static_cast<int>(config.train.threads)},
      [&](Group& group) { made = measure_profile(config, options, group); });
  save_profile(asked.out, made);
  fmt::print(stderr, "# {} on {}, measured at batch {}, written to {}\n",
             made.model, made.device, made.batches.back(), asked.out);
  print(profile_table(made), asked.format);
  return 0;
}

}  // namespace lockstep::cli
