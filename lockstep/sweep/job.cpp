// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/job.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace lockstep {

bool Job::over() const {
  if (point.mode == PointMode::predicted) return predicted;
  return failed || (repeats() ? settled : runs > 0);
}

bool Job::wants_run(int round) const {
  if (point.mode == PointMode::predicted || over()) return false;
  return repeats() ? runs < round : runs == 0;
}

int Job::runs_left(const StudyConfig& study) const {
  if (point.mode == PointMode::predicted || over()) return 0;
  if (!repeats()) return 1;
  return std::max(1, static_cast<int>(study.min_repeats) - runs);
}

bool Job::can_settle(const StudyConfig& study) const {
  if (!repeats() || settled || times.empty()) return false;
  if (failed || runs >= study.max_repeats) return true;
  return runs >= study.min_repeats && pool(times).half_width() <= study.within;
}

std::vector<Job> jobs_of(std::vector<Point> points, const StudyState& state,
                         const std::filesystem::path& folder,
                         const StudyConfig& study) {
  std::vector<Job> jobs;
  for (Point& point : points) {
    Job job{.point = std::move(point)};
    const auto known =
        std::ranges::find(state.points, job.point.id, &PointState::id);
    if (known != state.points.end()) {
      job.failed = !known->failures.empty();
      job.settled = !known->settled.is_null();
      job.predicted = !known->predicted.is_null();
      job.crowded = known->crowded, job.open_shared = known->open_shared;
      for (const PointRun& run : known->runs) {
        ++job.runs;
        job.seconds += run.seconds;
        if (run.timed)
          job.times.push_back(times_of(folder / run.run, study.warmup_steps));
      }
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

namespace {

// What ran elsewhere stays as it ran, whatever there is room for here.
void keep_what_ran(std::vector<Point>& points, const StudyState& state) {
  for (Point& p : points) {
    const auto known = std::ranges::find(state.points, p.id, &PointState::id);
    if (known == state.points.end() || known->runs.empty()) continue;
    for (const PointMode mode : {PointMode::timed, PointMode::train,
                                 PointMode::emulated, PointMode::correctness})
      if (known->mode == word(mode)) p.mode = mode, p.why = known->why;
  }
}

}  // namespace

std::vector<Job> jobs_here(const StudyRecipe& recipe, const StudyState& state,
                           const std::filesystem::path& folder,
                           const Room& room, bool predict_missing) {
  std::vector<Point> points = points_of(recipe);
  const bool predicts =
      predict_missing ||
      std::ranges::any_of(state.points, [](const PointState& p) {
        return p.mode == word(PointMode::predicted);
      });
  place_points(points, recipe.study, room, predicts);
  keep_what_ran(points, state);
  return jobs_of(std::move(points), state, folder, recipe.study);
}

std::vector<std::size_t> order_of_round(std::span<const Job> jobs, int round) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The first round goes as the recipe is written, so that a reader can follow.
  if (round > 1) {
    std::mt19937_64 bits(static_cast<std::uint64_t>(round));
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[bits() % i]);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return jobs[i].point.config.train.seed;
  });
  return order;
}

}  // namespace lockstep
