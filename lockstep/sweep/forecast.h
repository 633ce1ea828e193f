// SPDX-License-Identifier: Apache-2.0
// Points that were not run: from this study's own measured points where there
// are enough of them, else from a hardware preset, for one device corrected by
// what was measured on one. Always says which.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "lockstep/hardware/cluster.h"
#include "lockstep/predict/calibrate.h"
#include "lockstep/sweep/job.h"

namespace lockstep {

struct PointForecast {
  std::string from;
  double step_s = 0, epoch_s = 0;
  double lo90_s = 0, hi90_s = 0;  // of the epoch; of the step without one
  double speedup = 1, efficiency = 1;
  Verdict verdict = Verdict::scales;
  Cause cause = Cause::compute;
  bool memory_known = false, fits = true;
  double memory_bytes = 0;
};
Json to_json(const PointForecast& forecast);

// One measured point: its own step and epoch.
struct MeasuredPoint {
  const Point* point = nullptr;
  double step_s = 0, epoch_s = 0, epoch_samples = 0;
};

// Those of a sweep's jobs that were timed, with links that are real. Point into
// `jobs`.
std::vector<MeasuredPoint> measured_points(std::span<const Job> jobs);

// By strategy: 1 rank and at least one number of ranks more, for each model.
class StudyFit {
 public:
  explicit StudyFit(std::span<const MeasuredPoint> measured);
  // Nothing where this study measured too little for the point.
  std::optional<PointForecast> of(const Point& point) const;

 private:
  std::map<std::string, SystemFit> fits_;  // by strategy
};

// What the presets say, with the steps of one device from `measured` where the
// same model ran on one at two batch sizes. `hardware` is a preset or a file;
// empty: a guess at a CPU core, or Error{Fault::config} for a GPU point.
PointForecast what_if(const Point& point, const std::string& hardware,
                      std::span<const MeasuredPoint> measured = {});

}  // namespace lockstep
