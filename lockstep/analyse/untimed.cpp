// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/untimed.h"

#include "lockstep/store/study_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::map<fs::path, NotTimed> read_untimed(const fs::path& study) {
  std::map<fs::path, NotTimed> out;
  if (!is_study(study)) return out;
  const auto beside = [&](const std::string& run) {
    out[study / run] = {.why = kRanBesideOthers, .shared = true};
  };
  for (const PointState& point : read_study(study).points) {
    for (const PointRun& run : point.runs)
      if (run.shared)
        beside(run.run);
      else if (!run.timed)
        out[study / run.run] = {.why = "not timed: " + point.why};
    for (const PointFailure& failure : point.failures)
      if (failure.shared) beside(failure.run);
    if (point.open_shared) beside(point.open_run);
  }
  return out;
}

}  // namespace

const NotTimed* UntimedRuns::find(const fs::path& run) {
  fs::path path = fs::absolute(run).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "runs/1/"
  // STUDY/runs/<point>/<repeat>
  const fs::path study = path.parent_path().parent_path().parent_path();
  auto known = studies_.find(study);
  if (known == studies_.end())
    known = studies_.emplace(study, read_untimed(study)).first;
  const auto found = known->second.find(path);
  return found == known->second.end() ? nullptr : &found->second;
}

}  // namespace lockstep
