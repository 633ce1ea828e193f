// SPDX-License-Identifier: Apache-2.0
// What is to be trained, as a user names it: a recipe (TOML), a measured
// profile (JSON) or one of the built-in models. Resolved once, then asked for
// any device.
#pragma once

#include <optional>
#include <string>

#include "lockstep/config/run_config.h"
#include "lockstep/plan/profile.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/predict/question.h"
#include "lockstep/predict/workload.h"

namespace lockstep {

struct Subject {
  std::string name;
  std::optional<Profile> profile;  // else `plan` stands in
  std::optional<WorkPlan> plan;
  bool from_recipe = false;  // then `optim` and `asked` are its settings
  Precision precision = Precision::fp32;
  OptimConfig optim = {};
  // Settings let a GPU record the steps of one rank, of several by ddp.
  bool captured_alone = true, captured_together = true;
  // What the recipe asks for; defaults for a profile or a model.
  Question asked = {};
  std::string link;  // comm.link of the recipe, may be empty
};

// `what` is a file where it ends in .toml or .json or exists, else a model.
// Error{Fault::config} with the nearest model for a name that is none.
Subject find_subject(const std::string& what);
// What a recipe's settings ask for.
Subject subject_of(const RunConfig& config);

// The measured profile, or an estimate for the device.
Workload workload_on(const Subject& subject, const DeviceSpec& device,
                     const Software& software);

}  // namespace lockstep
