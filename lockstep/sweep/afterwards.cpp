// SPDX-License-Identifier: Apache-2.0
// When every run of a sweep is over: points are verified against each other,
// and those that could not run are predicted.
#include <fmt/format.h>

#include <algorithm>

#include "lockstep/sweep/forecast.h"
#include "lockstep/sweep/lab.h"
#include "lockstep/sweep/verify.h"

namespace lockstep {

void warn(Lab& lab, const std::string& text) {
  // "busy … 31 %" and "busy … 33 %" are the same warning.
  const std::string kind = text.substr(0, text.find(':'));
  if (std::ranges::find(lab.warned, kind) != lab.warned.end()) return;
  lab.warned.push_back(kind);
  lab.folder.append("warned", {{"text", text}});
  fmt::print(stderr, "warning: {}\n", text);
}

std::vector<MeasuredPoint> measured_points(std::span<const Job> jobs) {
  std::vector<MeasuredPoint> measured;
  for (const Job& job : jobs) {
    // An emulated link's time is a prediction itself.
    if (job.point.mode == PointMode::emulated || job.times.empty() ||
        job.times.front().full_s.empty())
      continue;
    const PooledTimes p = pool(job.times);
    measured.push_back({.point = &job.point,
                        .step_s = p.median_step_s,
                        .epoch_s = p.epoch_s,
                        .epoch_samples = job.times.front().epoch_samples});
  }
  return measured;
}

void verify_points(Lab& lab, const StudyState& state) {
  std::vector<FirstLoss> losses;
  for (const PointState& p : state.points) {
    const auto job = std::ranges::find(lab.jobs, p.id,
                                       [](const Job& j) { return j.point.id; });
    if (p.runs.empty() || job == lab.jobs.end()) continue;
    losses.push_back(
        {&job->point, first_loss_of(lab.folder.path() / p.runs.front().run)});
  }
  for (const Verified& v : verify(losses)) {
    const auto known =
        std::ranges::find(state.points, v.point, &PointState::id);
    if (!known->verified.is_null()) continue;
    lab.folder.append("verified", {{"point", v.point},
                                   {"against", v.against},
                                   {"loss", v.loss},
                                   {"reference", v.reference},
                                   {"agrees", v.agrees}});
    if (!v.agrees)
      warn(lab,
           fmt::format("{} is not verified: its first loss is {:.6g}, {}'s "
                       "is {:.6g}",
                       v.point, v.loss, v.against, v.reference));
  }
}

// Ran for its results alone: several ranks on one device, say.
bool ran_without_room(const Job& job) {
  return job.point.mode != PointMode::predicted &&
         job.point.mode != PointMode::emulated && job.runs > 0 &&
         !job.point.why.empty();
}

Json axes_but_seed(const Job& job) {
  Json axes = axes_of(job.point);
  axes.erase("seed");
  return axes;
}

// Points that did not run and, when asked, those that ran where they could not
// be timed: what they would take with devices of their own. Seeds of one point
// take the same time: the first stands for them.
void predict_missing(Lab& lab) {
  const std::vector<MeasuredPoint> measured = measured_points(lab.jobs);
  const StudyFit fit(measured);
  const std::string& hardware = lab.order.hardware.empty()
                                    ? lab.recipe.study.hardware
                                    : lab.order.hardware;
  std::vector<Json> known;
  for (const Job& job : lab.jobs)
    if (job.predicted) known.push_back(axes_but_seed(job));
  for (Job& job : lab.jobs) {
    const bool missing = job.point.mode == PointMode::predicted && !job.over();
    const bool untimed =
        lab.order.predict_missing && ran_without_room(job) &&
        std::ranges::find(known, axes_but_seed(job)) == known.end();
    if (!missing && !untimed) continue;
    const auto own = fit.of(job.point);
    Json fields = to_json(own ? *own : what_if(job.point, hardware, measured));
    fields["point"] = job.point.id;
    fields["why"] = job.point.why;
    lab.folder.append("predicted", fields);
    job.predicted = true;
    known.push_back(axes_but_seed(job));
  }
}

}  // namespace lockstep
