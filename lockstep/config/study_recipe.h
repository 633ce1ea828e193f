// SPDX-License-Identifier: Apache-2.0
// A study's recipe: a run's recipe with [study], [grid] (or several [[grid]]),
// [[exclude]] and [derive]. Expanded to points, each a complete RunConfig.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/config/recipe_text.h"
#include "lockstep/config/run_config.h"
#include "lockstep/config/study_config.h"

namespace lockstep {

inline const std::array<std::string, 4> kStudySections = {"study", "grid",
                                                          "exclude", "derive"};
// Error{Fault::config} beyond it.
constexpr std::size_t kMostStudyPoints = 100'000;

// What a point is told: a run's settings and how some follow from others.
struct PointConfig {
  RunConfig run;
  DeriveConfig derive;
};

// Fields of both. They point into `config`.
std::vector<Field> fields_of(PointConfig& config);

// One place of the grid, before anything was derived.
struct GridPlace {
  // Dotted name -> value of what the grids set; the same names for every
  // place, so that points compare.
  Json settings = Json::object();
  PointConfig config;
};

struct StudyRecipe {
  StudyConfig study;
  PointConfig base;                 // what every place starts from
  std::vector<std::string> varied;  // names that differ between places
  std::vector<GridPlace> places;
};

// Errors carry file:line:column: an empty list, an unknown setting, a value
// that does not fit, an exclusion that matches nothing, no point left.
StudyRecipe parse_study(const std::string& toml, const std::string& name);
StudyRecipe load_study(const std::filesystem::path& recipe);

// The word of a choice of [study]: study_word(c, "kind").
std::string study_word(const StudyConfig& study, const std::string& field);

}  // namespace lockstep
