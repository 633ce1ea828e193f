// SPDX-License-Identifier: Apache-2.0
// Measures what `lockstep profile` asks for.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/lists.h"
#include "cli/profile_asked.h"
#include "lockstep/core/error.h"
#include "lockstep/device/memory.h"
#include "lockstep/report/profile_table.h"
#include "lockstep/train/profile.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostRanks = 1024;

}  // namespace

int run_profile(const ProfileAsked& asked) {
  const RunConfig config = load_config(asked.recipe, asked.sets);
  ProfileOptions options{.batches = {}, .steps = asked.steps};
  if (!asked.batches.empty())
    options.batches = numbers_of("--batches", asked.batches);
  if (asked.ranks < 1 || asked.ranks > kMostRanks)
    throw Error(Fault::config, "--ranks",
                fmt::format("{} is not from 1 to {}", asked.ranks, kMostRanks),
                "as many as will train on this machine");
  keep_freed_memory();
  const Profile made =
      measure_profile_beside(config, options, static_cast<int>(asked.ranks));
  save_profile(asked.out, made);
  fmt::print(stderr, "# {} on {}, measured at batch {}, written to {}\n",
             made.model, made.device, made.batches.back(), asked.out);
  print(profile_table(made), asked.format);
  return 0;
}

}  // namespace lockstep::cli
