// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/core/version.h"
#include "lockstep/sweep/lab.h"
#include "lockstep/sweep/machine.h"

namespace lockstep {
namespace {

// Every point not yet in the ledger, or treated otherwise here than where it
// was queued: a folder may move to a machine with more cores.
void queue(Lab& lab, const StudyState& state) {
  const StudyConfig& study = lab.recipe.study;
  if (state.measure.empty())
    lab.folder.append("study", {{"schema", kStudySchema},
                                {"title", study.title},
                                {"kind", study_word(study, "kind")},
                                {"measure", study_word(study, "measure")},
                                {"points", lab.jobs.size()},
                                {"version", version_text()},
                                {"command", lab.order.command}});
  for (const Job& job : lab.jobs) {
    const Point& p = job.point;
    const auto known = std::ranges::find(state.points, p.id, &PointState::id);
    if (known != state.points.end() && known->mode == word(p.mode)) continue;
    lab.folder.append("queued", {{"point", p.id},
                                 {"settings", p.settings},
                                 {"axes", axes_of(p)},
                                 {"mode", word(p.mode)},
                                 {"why", p.why}});
  }
}

// One word now is better than a failure of every point.
void check_devices(const std::vector<Job>& jobs, const Room& room) {
  const auto count = std::ranges::count_if(
      jobs, [](const Job& job) { return !job.over() && needs_gpu(job.point); });
  if (count > 0 && room.gpus == 0)
    throw Error(Fault::device, "train.device",
                fmt::format("{} points need a GPU, there is none", count),
                "--predict-missing predicts them; `lockstep doctor` says what "
                "is missing");
}

}  // namespace

SweepEnd sweep(StudyFolder& folder, const SweepOrder& order) {
  Lab lab{
      .folder = folder, .order = order, .recipe = load_study(folder.recipe())};
  const StudyState state = read_study(folder.path());
  const Room room = room_here();
  lab.jobs =
      jobs_here(lab.recipe, state, folder.path(), room, order.predict_missing);
  check_devices(lab.jobs, room);
  queue(lab, state);
  const SweepEnd end = run_rounds(lab);
  if (end == SweepEnd::finished) {
    verify_points(lab, read_study(folder.path()));
    predict_missing(lab);
    profile_models(lab);
    if (lab.stopped()) return SweepEnd::interrupted;
  } else {
    folder.append("stopped",
                  {{"why", end == SweepEnd::out_of_time ? "--max-minutes"
                                                        : "interrupted"}});
  }
  return end;
}

}  // namespace lockstep
