// SPDX-License-Identifier: Apache-2.0
// A sweep at work: its folder, its order and its jobs; and what follows when
// every run is over. Used within sweep/ alone.
#pragma once

#include <string>
#include <vector>

#include "lockstep/config/study_recipe.h"
#include "lockstep/core/clock.h"
#include "lockstep/sweep/bar.h"
#include "lockstep/sweep/job.h"
#include "lockstep/sweep/sweep.h"

namespace lockstep {

struct Lab {
  StudyFolder& folder;
  const SweepOrder& order;
  StudyRecipe recipe;
  std::vector<Job> jobs = {};
  SweepBar bar = {};
  std::vector<std::string> warned = {};
  double begin_s = now_s();

  bool stopped() const { return order.stop != nullptr && *order.stop != 0; }
  bool out_of_time() const {
    return order.max_minutes > 0 && now_s() - begin_s >= order.max_minutes * 60;
  }
};

// To the ledger and to people, once a kind.
void warn(Lab& lab, const std::string& text);

// The first run of each point; what disagrees is said, not hidden.
void verify_points(Lab& lab, const StudyState& state);
// From the measured points; where those do not reach, from the hardware named.
void predict_missing(Lab& lab);

}  // namespace lockstep
