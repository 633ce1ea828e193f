// SPDX-License-Identifier: Apache-2.0
// A sweep at work: its folder, its order and its jobs; and what follows when
// every run is over. Used within sweep/ alone.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/config/study_recipe.h"
#include "lockstep/core/clock.h"
#include "lockstep/sweep/bar.h"
#include "lockstep/sweep/child.h"
#include "lockstep/sweep/job.h"
#include "lockstep/sweep/machine.h"
#include "lockstep/sweep/sweep.h"

namespace lockstep {

// One run of a job.
struct JobRun {
  std::size_t job = 0;
  std::string name = {};  // of its folder, relative to the study's
  bool shared = false;    // it ran beside others: not timed
};

struct RunAtWork {
  RunAtWork(JobRun what, const Troubles& troubles, ChildOrder order)
      : run(std::move(what)), before(troubles), child(std::move(order)) {}

  JobRun run;
  Troubles before;
  Child child;
};

struct Lab {
  StudyFolder& folder;
  const SweepOrder& order;
  StudyRecipe recipe;
  std::vector<Job> jobs = {};
  SweepBar bar = {};
  std::vector<std::string> warned = {};
  std::list<RunAtWork> at_work = {};
  int watched_round = 0;
  double begin_s = now_s();

  bool stopped() const { return order.stop != nullptr && *order.stop != 0; }
  bool out_of_time() const {
    return order.max_minutes > 0 && now_s() - begin_s >= order.max_minutes * 60;
  }
};

// To the ledger and to people, once a kind.
void warn(Lab& lab, const std::string& text);

SweepBar::Count count_of(const Lab& lab);

// Every run there is to run, until time is over or a signal came.
SweepEnd run_rounds(Lab& lab);
// A run ended: its line in the ledger, and its point's where that is settled.
// `why` it failed, or empty.
void take_end(Lab& lab, Job& job, const JobRun& run, const ChildEnd& end,
              const std::string& why);

// The first run of each point; what disagrees is said, not hidden.
void verify_points(Lab& lab, const StudyState& state);
// Models at the batch sizes one rank ran, into profiles/; what fails is said.
void profile_models(Lab& lab);
// From the measured points; where those do not reach, from the hardware named.
void predict_missing(Lab& lab);

}  // namespace lockstep
