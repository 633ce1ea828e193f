// SPDX-License-Identifier: Apache-2.0
// `lockstep train --advise`: measures what this machine does with the recipe,
// and gives back the settings that the advice changes.
#pragma once

#include "cli/train_asked.h"
#include "lockstep/config/run_config.h"
#include "lockstep/core/json.h"

namespace lockstep::cli {

struct TakenAdvice {
  RunConfig config;
  Json record = Json::object();  // for record.json; empty when none was asked
};

// The recipe as it is when no advice was asked. Error{Fault::config} when the
// number of ranks is already decided, by an option or a launcher.
TakenAdvice take_advice(RunConfig recipe, const TrainAsked& asked);

}  // namespace lockstep::cli
