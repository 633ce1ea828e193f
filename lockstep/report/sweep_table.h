// SPDX-License-Identifier: Apache-2.0
// A study for people: what it would run (--dry-run), and what each point came
// to.
#pragma once

#include <span>
#include <vector>

#include "lockstep/core/table.h"
#include "lockstep/store/study_folder.h"
#include "lockstep/sweep/forecast.h"
#include "lockstep/sweep/points.h"

namespace lockstep {

struct DryPoint {
  Point point;
  PointForecast forecast = {};
  int runs = 1;        // at the least
  double seconds = 0;  // all of its runs, predicted
};

// How long a point's runs will take, roughly: starting a process, loading its
// data, its steps or epochs.
double predicted_seconds(const Point& point, const PointForecast& forecast,
                         int runs);

// What is left to do of a study, predicted from what it measured so far.
std::vector<DryPoint> points_left(std::span<const Job> jobs,
                                  const StudyConfig& study,
                                  const std::string& hardware);

Table dry_run_table(std::span<const DryPoint> points);
// One row a point: measured, predicted or failed, and says which.
Table sweep_table(const StudyState& study);

}  // namespace lockstep
