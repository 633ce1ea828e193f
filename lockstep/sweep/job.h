// SPDX-License-Identifier: Apache-2.0
// A point on its way through a sweep: what the ledger says of it, what its runs
// measured, whether it needs another. No process is started here.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lockstep/store/study_folder.h"
#include "lockstep/sweep/points.h"
#include "lockstep/sweep/result.h"

namespace lockstep {

struct Job {
  Point point;
  std::vector<RunTimes> times = {};  // of each finished run that was timed
  int runs = 0;                      // finished
  double seconds = 0;                // of all finished runs
  bool failed = false, settled = false, predicted = false;
  bool crowded = false;      // beside others its memory did not suffice
  bool open_shared = false;  // a run that was cut off had others beside it

  bool repeats() const {
    return point.mode == PointMode::timed || point.mode == PointMode::emulated;
  }
  // Nobody looks at its times: others may run beside it.
  bool may_share() const { return !repeats() && !crowded; }
  // Nothing is left to do for it.
  bool over() const;
  // In round 1, 2, …: it has not had that many runs yet.
  bool wants_run(int round) const;
  // Runs it will still have, at the least.
  int runs_left(const StudyConfig& study) const;
  // Enough runs for the interval asked for, or as many as may be.
  bool can_settle(const StudyConfig& study) const;
};

// The jobs of a study, with what the ledger knows of them.
std::vector<Job> jobs_of(std::vector<Point> points, const StudyState& state,
                         const std::filesystem::path& folder,
                         const StudyConfig& study);

// The same on this machine: what it cannot run is for correctness or predicted,
// what ran elsewhere stays as it ran. Once asked for, a study that goes on
// still predicts what is missing.
std::vector<Job> jobs_here(const StudyRecipe& recipe, const StudyState& state,
                           const std::filesystem::path& folder,
                           const Room& room, bool predict_missing);

// Positions of the jobs, in another order each round: a machine that slows
// down in the afternoon must not slow down the last points alone. Seeds are
// repeats too: every point's first comes before any point's second.
std::vector<std::size_t> order_of_round(std::span<const Job> jobs, int round);

}  // namespace lockstep
