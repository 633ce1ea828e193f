// SPDX-License-Identifier: Apache-2.0
// A run is over: what it measured, or why it failed, goes to the ledger and to
// people before anything else happens.
#include <fmt/format.h>

#include "lockstep/core/units.h"
#include "lockstep/sweep/lab.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::int64_t warmup_of(const Lab& lab, const Job& job) {
  return job.point.mode == PointMode::train ? -1
                                            : lab.recipe.study.warmup_steps;
}

// Beside others a device's time says nothing: no reader is to find one.
void forget_times(Json& result) {
  for (const char* name :
       {"timed_steps", "median_step_s", "epoch_s", "epoch_with_loading_s",
        "samples_per_s", "data_s", "comm_s", "exposed_comm_s"})
    if (result.contains(name)) result[name] = nullptr;
}

std::string result_text(const Job& job, const JobRun& run, const Json& result) {
  const auto seconds = [&](const char* name) {
    return result[name].is_null() ? "?"
                                  : format_seconds(result[name].get<double>());
  };
  if (job.point.mode == PointMode::correctness && !run.shared)
    return "ran; not timed";
  std::string text =
      run.shared ? kRanBesideOthers
                 : fmt::format("{} a step, {} an epoch",
                               seconds("median_step_s"), seconds("epoch_s"));
  if (const Json& a = result["final_val_accuracy"]; !a.is_null())
    text += fmt::format(", validation {:.2f} %", a.get<double>() * 100);
  return text;
}

void harvest(Lab& lab, Job& job, const JobRun& run, double seconds) {
  const fs::path path = lab.folder.path() / run.name;
  Json result = result_of(path, warmup_of(lab, job));
  if (run.shared) forget_times(result);
  const bool timed =
      !run.shared && (job.repeats() || (job.point.mode == PointMode::train &&
                                        job.point.why.empty()));
  RunTimes times;
  if (timed) {
    times = times_of(path, lab.recipe.study.warmup_steps);
    if (times.full_s.empty() && job.repeats())
      throw Error(Fault::store, path.string(), "has no timed step");
  }
  Json fields = {{"point", job.point.id}, {"repeat", job.runs + 1},
                 {"run", run.name},       {"seconds", seconds},
                 {"timed", timed},        {"result", result}};
  if (run.shared) fields["shared"] = true;
  lab.folder.append("done", fields);
  ++job.runs;
  job.seconds += seconds;
  if (timed) job.times.push_back(std::move(times));
  lab.bar.say(count_of(lab), fmt::format("{} #{}: {}", job.point.id, job.runs,
                                         result_text(job, run, result)));
}

void give_up(Lab& lab, Job& job, const JobRun& run, const ChildEnd& end,
             const std::string& why) {
  Json fields = {{"point", job.point.id},
                 {"repeat", job.runs + 1},
                 {"run", run.name},
                 {"seconds", end.seconds},
                 {"why", why},
                 {"exit_code", end.exit_code},
                 {"signal", end.signal},
                 {"message", end.last_words}};
  if (run.shared) fields["shared"] = true;
  lab.folder.append("failed", fields);
  job.failed = true;
  lab.bar.say(count_of(lab), fmt::format("{} #{}: {} ({})", job.point.id,
                                         job.runs + 1, why, end.last_words));
}

// A run that says it did well but left nothing to read has failed too.
void harvest_or_give_up(Lab& lab, Job& job, const JobRun& run, ChildEnd end) {
  try {
    harvest(lab, job, run, end.seconds);
  } catch (const Error& e) {
    end.last_words = e.what();
    give_up(lab, job, run, end, "store");
  }
}

// Whether it fits is known once it ran alone.
void try_again_alone(Lab& lab, Job& job, const JobRun& run,
                     const ChildEnd& end) {
  lab.folder.append("crowded", {{"point", job.point.id},
                                {"repeat", job.runs + 1},
                                {"run", run.name},
                                {"seconds", end.seconds},
                                {"message", end.last_words}});
  // A checkpoint it left was made in company.
  job.crowded = job.open_shared = true;
  lab.bar.say(count_of(lab),
              fmt::format("{} #{}: too little memory beside others, runs again "
                          "alone",
                          job.point.id, job.runs + 1));
}

void settle(Lab& lab, Job& job) {
  if (!job.can_settle(lab.recipe.study)) return;
  const PooledTimes p = pool(job.times);
  const bool within = p.half_width() <= lab.recipe.study.within;
  lab.folder.append("settled", {{"point", job.point.id},
                                {"repeats", p.runs},
                                {"samples", p.samples},
                                {"median_step_s", p.median_step_s},
                                {"lo95_s", p.lo95_s},
                                {"hi95_s", p.hi95_s},
                                {"half_width", p.half_width()},
                                {"within", within},
                                {"epoch_s", p.epoch_s}});
  job.settled = true;
  if (!within)
    lab.bar.say(
        count_of(lab),
        fmt::format("{}: after {} runs the median is known to {:.1f} %, not "
                    "to {:.1f} %",
                    job.point.id, p.runs, p.half_width() * 100,
                    lab.recipe.study.within * 100));
}

}  // namespace

SweepBar::Count count_of(const Lab& lab) {
  SweepBar::Count out;
  double seconds = 0;
  for (const Job& job : lab.jobs) {
    ++out.points;
    out.points_done += job.over() ? 1 : 0;
    out.runs_done += job.runs;
    out.runs_left += job.runs_left(lab.recipe.study);
    seconds += job.seconds;
  }
  out.running = std::ssize(lab.at_work);
  // Each point as long as its own runs took, or as all of them did.
  const double mean = seconds / static_cast<double>(out.runs_done);
  for (const Job& job : lab.jobs)
    out.left_s += job.runs_left(lab.recipe.study) *
                  (job.runs > 0 ? job.seconds / job.runs : mean) /
                  (job.may_share() ? lab.order.jobs : 1);
  return out;
}

void take_end(Lab& lab, Job& job, const JobRun& run, const ChildEnd& end,
              const std::string& why) {
  if (why.empty())
    harvest_or_give_up(lab, job, run, end);
  else if (why == kDoesNotFit && run.shared && job.may_share())
    try_again_alone(lab, job, run, end);
  else
    give_up(lab, job, run, end, why);
  settle(lab, job);
}

}  // namespace lockstep
