// SPDX-License-Identifier: Apache-2.0
// The points of a study: each place of the grid with its derived settings, a
// name for its folder, and how it is to be treated on this machine.
#pragma once

#include <string>
#include <vector>

#include "lockstep/config/study_recipe.h"
#include "lockstep/core/json.h"

namespace lockstep {

// timed: measured, with repeats. train: one whole training. emulated: timed,
// one real rank. correctness: run, never timed. predicted: not run.
enum class PointMode { timed, train, emulated, correctness, predicted };
std::string_view word(PointMode mode);

struct Point {
  std::string id;  // "07-linear-ddp-2-100": place in the grid and what varies
  Json settings = Json::object();
  std::string arm;  // how it differs from the recipe beside the axes, or empty
  RunConfig config;
  PointMode mode = PointMode::timed;
  std::string why;  // why it is not timed
};

// What the machine can run side by side.
struct Room {
  int cores = 1, gpus = 0;
};

// Complete and validated. Error{Fault::config} names the point that cannot be.
std::vector<Point> points_of(const StudyRecipe& recipe);

// Sets mode and why of each point for this machine.
void place_points(std::vector<Point>& points, const StudyConfig& study,
                  const Room& room, bool predict_missing);

// Placed as it is, it runs on a GPU.
bool needs_gpu(const Point& point);

// model, strategy, ranks, global_batch, per_rank, seed, device, arm.
Json axes_of(const Point& point);

}  // namespace lockstep
