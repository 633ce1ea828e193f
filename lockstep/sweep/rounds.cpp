// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep, round by round: those that are timed one by one, the
// others as many at a time as were asked for. One thread looks after them all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "lockstep/core/file.h"
#include "lockstep/sweep/lab.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Seconds the cores are watched before a round.
constexpr double kWatch_s = 0.3;

void warn_of_machine(Lab& lab) {
  const bool gpus = std::ranges::any_of(lab.jobs, [](const Job& job) {
    return job.point.config.train.device != "cpu";
  });
  for (const std::string& text : warnings_here(kWatch_s, gpus)) warn(lab, text);
}

bool shares(const Lab& lab, const Job& job) {
  return lab.order.jobs > 1 && job.may_share();
}

// A training that was cut off goes on from its checkpoint; a timed run begins
// anew, since half of it says nothing.
bool goes_on(const Job& job, const fs::path& run) {
  std::error_code ignored;
  return !job.repeats() && fs::exists(run / "config.toml", ignored) &&
         fs::exists(run / "checkpoint", ignored);
}

// Where a run goes and how it is started.
std::vector<std::string> command_of(const Lab& lab, const Job& job,
                                    const fs::path& run) {
  const std::string program = lab.order.program.string();
  if (goes_on(job, run)) return {program, "train", "--resume", run.string()};
  fs::remove_all(run);
  const fs::path recipe = run.parent_path() / "recipe.toml";
  write_file(recipe, to_toml(job.point.config));
  return {program, "train", recipe.string(), "--out", run.string()};
}

void start_job(Lab& lab, const Job& job, JobRun run) {
  const fs::path path = lab.folder.path() / run.name;
  fs::create_directories(path.parent_path());
  // Its first part may have had company, on whatever machine that was.
  run.shared = shares(lab, job) || (job.open_shared && goes_on(job, path));
  ChildOrder child{.command = command_of(lab, job, path),
                   .log = path.string() + ".log",
                   .deadline_s = lab.recipe.study.deadline_s,
                   .stop = lab.order.stop};
  Json fields = {{"point", job.point.id},
                 {"repeat", job.runs + 1},
                 {"run", run.name},
                 {"command", fmt::format("{}", fmt::join(child.command, " "))}};
  if (run.shared) fields["shared"] = true;
  lab.folder.append("started", fields);
  lab.at_work.emplace_back(std::move(run), troubles_here(), std::move(child));
}

// Killed between the run's end and its line in the ledger: it is not run again.
// How long it took is not known any more.
void start_or_harvest(Lab& lab, std::size_t index) {
  Job& job = lab.jobs[index];
  JobRun run{.job = index,
             .name = fmt::format("runs/{}/{}", job.point.id, job.runs + 1)};
  if (!fs::exists(lab.folder.path() / run.name / "DONE"))
    return start_job(lab, job, std::move(run));
  run.shared = job.open_shared;
  take_end(lab, job, run, {.exit_code = 0, .last_words = {}}, "");
}

void finish(Lab& lab, const RunAtWork& at_work, const ChildEnd& end) {
  const Troubles after = troubles_here();
  if (after.throttled > at_work.before.throttled)
    warn(lab, "thermal limit: the processor slowed down for heat");
  const bool out_of_memory = after.out_of_memory > at_work.before.out_of_memory;
  take_end(lab, lab.jobs[at_work.run.job], at_work.run, end,
           why_failed(end, out_of_memory));
}

void draw(Lab& lab) {
  if (!lab.bar.due()) return;
  const Job& job = lab.jobs[lab.at_work.front().run.job];
  std::string now = fmt::format("{} #{}", job.point.id, job.runs + 1);
  if (lab.at_work.size() > 1)
    now += fmt::format(" and {} more", lab.at_work.size() - 1);
  lab.bar.draw(count_of(lab), now);
}

// Looks after the runs at work until there are fewer than `most`. One that was
// told to stop has no result.
void wait_for_room(Lab& lab, std::size_t most) {
  while (lab.at_work.size() >= most) {
    for (auto at = lab.at_work.begin(); at != lab.at_work.end();) {
      const auto run = at++;
      const std::optional<ChildEnd> end = run->child.poll();
      if (!end) continue;
      std::list<RunAtWork> over;
      over.splice(over.begin(), lab.at_work, run);
      if (!lab.stopped()) finish(lab, *run, *end);
    }
    if (lab.at_work.empty()) return;
    draw(lab);
    std::this_thread::sleep_for(kPoll);
  }
}

SweepEnd end_of(const Lab& lab) {
  return lab.stopped()       ? SweepEnd::interrupted
         : lab.out_of_time() ? SweepEnd::out_of_time
                             : SweepEnd::finished;
}

// Of a round, the points that share the machine, or those that do not. Nothing
// runs any more when this returns.
SweepEnd run_part(Lab& lab, int round, bool sharing) {
  const auto most = static_cast<std::size_t>(sharing ? lab.order.jobs : 1);
  SweepEnd end = SweepEnd::finished;
  for (const std::size_t i : order_of_round(lab.jobs, round)) {
    const Job& job = lab.jobs[i];
    if (!job.wants_run(round) || shares(lab, job) != sharing) continue;
    wait_for_room(lab, most);
    end = end_of(lab);
    if (end != SweepEnd::finished) break;
    if (std::exchange(lab.watched_round, round) != round) warn_of_machine(lab);
    start_or_harvest(lab, i);
  }
  wait_for_room(lab, 1);
  return lab.stopped() ? SweepEnd::interrupted : end;
}

}  // namespace

SweepEnd run_rounds(Lab& lab) {
  const auto rounds = static_cast<int>(lab.recipe.study.max_repeats);
  for (int round = 1; round <= rounds; ++round)
    for (const bool sharing : {true, false})
      if (const SweepEnd end = run_part(lab, round, sharing);
          end != SweepEnd::finished)
        return end;
  return SweepEnd::finished;
}

}  // namespace lockstep
