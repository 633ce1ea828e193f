// SPDX-License-Identifier: Apache-2.0
// When every run of a sweep is over: each model that one rank ran at two or
// more batch sizes is profiled at those, layer by layer, where the study asks
// for it. Its report says by them which layers fall and where.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/config/model_name.h"
#include "lockstep/sweep/lab.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 24;      // timed at each batch size
constexpr std::int64_t kLeastSteps = 5;  // fewer have no median

struct Wanted {
  const Job* job = nullptr;  // whose recipe is taken
  std::set<std::int64_t> batches = {};
};

std::map<std::string, Wanted> wanted_of(const std::vector<Job>& jobs) {
  std::map<std::string, Wanted> out;
  for (const Job& job : jobs) {
    const RunConfig& config = job.point.config;
    if (config.comm.ranks != 1 || config.batch.mode != BatchMode::fixed ||
        job.runs == 0 || job.failed ||
        (job.point.mode != PointMode::timed &&
         job.point.mode != PointMode::train))
      continue;
    Wanted& wanted = out[model_name(config.model)];
    if (wanted.job == nullptr) wanted.job = &job;
    wanted.batches.insert(global_batch(config));
  }
  std::erase_if(out, [](const auto& e) { return e.second.batches.size() < 2; });
  return out;
}

std::string file_name(std::string model) {
  for (char& c : model)
    if (c == '/' || c == ' ') c = '_';
  return model;
}

std::int64_t steps_of(const StudyConfig& study) {
  return study.measure == StudyMeasure::train
             ? kSteps
             : std::max(kLeastSteps, study.timed_steps);
}

// What it says when it did not succeed.
std::string profile_once(const Lab& lab, const Wanted& wanted,
                         const fs::path& out) {
  const fs::path recipe =
      lab.folder.path() / "runs" / wanted.job->point.id / "recipe.toml";
  Child child(
      {.command = {lab.order.program.string(), "profile", recipe.string(),
                   "--batches",
                   fmt::format("{}", fmt::join(wanted.batches, ",")), "--steps",
                   std::to_string(steps_of(lab.recipe.study)), "--out",
                   out.string()},
       .log = fs::path(out).replace_extension(".log"),
       .deadline_s = lab.recipe.study.deadline_s,
       .stop = lab.order.stop});
  const ChildEnd end = child.wait();
  return end.exit_code == 0 ? ""
                            : why_failed(end, false) + ": " + end.last_words;
}

}  // namespace

void profile_models(Lab& lab) {
  if (!lab.recipe.study.profile) return;
  const fs::path folder = lab.folder.path() / "profiles";
  for (const auto& [model, wanted] : wanted_of(lab.jobs)) {
    const fs::path out = folder / (file_name(model) + ".json");
    if (lab.stopped() || fs::exists(out)) continue;
    fs::create_directories(folder);
    fmt::print(stderr, "# {} is profiled at batch {} with the settings of {}\n",
               model, fmt::join(wanted.batches, ", "), wanted.job->point.id);
    const std::string why = profile_once(lab, wanted, out);
    if (!why.empty() && !lab.stopped())
      warn(lab, fmt::format("no profile of {}: {}", model, why));
  }
}

}  // namespace lockstep
