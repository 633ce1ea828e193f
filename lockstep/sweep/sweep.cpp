// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/clock.h"
#include "lockstep/core/file.h"
#include "lockstep/core/units.h"
#include "lockstep/core/version.h"
#include "lockstep/sweep/child.h"
#include "lockstep/sweep/lab.h"
#include "lockstep/sweep/machine.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Seconds the cores are watched before a round.
constexpr double kWatch_s = 0.3;

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
  // Each point as long as its own runs took, or as all of them did.
  const double mean = seconds / static_cast<double>(out.runs_done);
  for (const Job& job : lab.jobs)
    out.left_s += job.runs_left(lab.recipe.study) *
                  (job.runs > 0 ? job.seconds / job.runs : mean);
  return out;
}

void warn_of_machine(Lab& lab) {
  const bool gpus = std::ranges::any_of(lab.jobs, [](const Job& job) {
    return job.point.config.train.device != "cpu";
  });
  for (const std::string& text : warnings_here(kWatch_s, gpus)) warn(lab, text);
}

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

// Where a run goes and how it is started. A training that was cut off goes on
// from its checkpoint; a timed run begins anew, since half of it says nothing.
std::vector<std::string> command_of(const Lab& lab, const Job& job,
                                    const fs::path& run) {
  const std::string program = lab.order.program.string();
  std::error_code ignored;
  if (!job.repeats() && fs::exists(run / "config.toml", ignored) &&
      fs::exists(run / "checkpoint", ignored))
    return {program, "train", "--resume", run.string()};
  fs::remove_all(run);
  const fs::path recipe = run.parent_path() / "recipe.toml";
  write_file(recipe, to_toml(job.point.config));
  return {program, "train", recipe.string(), "--out", run.string()};
}

std::int64_t warmup_of(const Lab& lab, const Job& job) {
  return job.point.mode == PointMode::train ? -1
                                            : lab.recipe.study.warmup_steps;
}

std::string result_text(const Job& job, const Json& result) {
  const auto seconds = [&](const char* name) {
    return result[name].is_null() ? "?"
                                  : format_seconds(result[name].get<double>());
  };
  if (job.point.mode == PointMode::correctness) return "ran; not timed";
  std::string text = fmt::format("{} a step, {} an epoch",
                                 seconds("median_step_s"), seconds("epoch_s"));
  if (const Json& a = result["final_val_accuracy"]; !a.is_null())
    text += fmt::format(", validation {:.2f} %", a.get<double>() * 100);
  return text;
}

// The run is over and well: what it measured goes to the ledger.
void harvest(Lab& lab, Job& job, const fs::path& name, double seconds) {
  const fs::path run = lab.folder.path() / name;
  const Json result = result_of(run, warmup_of(lab, job));
  const bool timed = job.repeats() || (job.point.mode == PointMode::train &&
                                       job.point.why.empty());
  RunTimes times;
  if (timed) {
    times = times_of(run, lab.recipe.study.warmup_steps);
    if (times.full_s.empty() && job.repeats())
      throw Error(Fault::store, run.string(), "has no timed step");
  }
  lab.folder.append("done", {{"point", job.point.id},
                             {"repeat", job.runs + 1},
                             {"run", name.string()},
                             {"seconds", seconds},
                             {"timed", timed},
                             {"result", result}});
  ++job.runs;
  job.seconds += seconds;
  if (timed) job.times.push_back(std::move(times));
  lab.bar.say(count_of(lab), fmt::format("{} #{}: {}", job.point.id, job.runs,
                                         result_text(job, result)));
}

void give_up(Lab& lab, Job& job, const fs::path& name, const ChildEnd& end,
             const std::string& why) {
  lab.folder.append("failed", {{"point", job.point.id},
                               {"repeat", job.runs + 1},
                               {"run", name.string()},
                               {"seconds", end.seconds},
                               {"why", why},
                               {"exit_code", end.exit_code},
                               {"signal", end.signal},
                               {"message", end.last_words}});
  job.failed = true;
  lab.bar.say(count_of(lab), fmt::format("{} #{}: {} ({})", job.point.id,
                                         job.runs + 1, why, end.last_words));
}

// A run that says it did well but left nothing to read has failed too.
void harvest_or_give_up(Lab& lab, Job& job, const fs::path& name,
                        ChildEnd end) {
  try {
    harvest(lab, job, name, end.seconds);
  } catch (const Error& e) {
    end.last_words = e.what();
    give_up(lab, job, name, end, "store");
  }
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

ChildEnd run_it(Lab& lab, const Job& job, const fs::path& name) {
  const fs::path run = lab.folder.path() / name;
  fs::create_directories(run.parent_path());
  ChildOrder child{.command = command_of(lab, job, run),
                   .log = run.string() + ".log",
                   .deadline_s = lab.recipe.study.deadline_s,
                   .stop = lab.order.stop};
  child.tick = [&] {
    lab.bar.draw(count_of(lab),
                 fmt::format("{} #{}", job.point.id, job.runs + 1));
  };
  lab.folder.append(
      "started",
      {{"point", job.point.id},
       {"repeat", job.runs + 1},
       {"run", name.string()},
       {"command", fmt::format("{}", fmt::join(child.command, " "))}});
  return run_child(child);
}

void run_once(Lab& lab, Job& job) {
  const fs::path name =
      fs::path("runs") / job.point.id / std::to_string(job.runs + 1);
  // Killed between the run's end and its line in the ledger: it is not run
  // again. How long it took is not known any more.
  if (fs::exists(lab.folder.path() / name / "DONE")) {
    harvest_or_give_up(lab, job, name, {.exit_code = 0, .last_words = {}});
    return settle(lab, job);
  }
  const Troubles before = troubles_here();
  ChildEnd end = run_it(lab, job, name);
  if (lab.stopped()) return;
  const Troubles after = troubles_here();
  if (after.throttled > before.throttled)
    warn(lab, "thermal limit: the processor slowed down for heat");
  const std::string why =
      why_failed(end, after.out_of_memory > before.out_of_memory);
  if (!why.empty())
    give_up(lab, job, name, end, why);
  else
    harvest_or_give_up(lab, job, name, end);
  settle(lab, job);
}

SweepEnd run_rounds(Lab& lab) {
  const auto most = static_cast<int>(lab.recipe.study.max_repeats);
  for (int round = 1; round <= most; ++round) {
    bool watched = false;
    for (const std::size_t i : order_of_round(lab.jobs, round)) {
      if (!lab.jobs[i].wants_run(round)) continue;
      if (lab.out_of_time()) return SweepEnd::out_of_time;
      if (!watched) warn_of_machine(lab);
      watched = true;
      run_once(lab, lab.jobs[i]);
      if (lab.stopped()) return SweepEnd::interrupted;
    }
  }
  return SweepEnd::finished;
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
  } else {
    folder.append("stopped",
                  {{"why", end == SweepEnd::out_of_time ? "--max-minutes"
                                                        : "interrupted"}});
  }
  return end;
}

}  // namespace lockstep
