// SPDX-License-Identifier: Apache-2.0
// Two sides compared, for people: reads the folders, pairs what may be paired,
// and says in one sentence what was found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/analyse/compare_runs.h"
#include "lockstep/core/table.h"

namespace lockstep {

struct ComparedPoint {
  std::string point;  // what both sides ran; empty for two single runs
  std::vector<MetricChange> metrics;
};

struct Comparison {
  std::string a, b;
  std::vector<ComparedPoint> points;
  bool machines_differ = false;
  std::vector<std::string> notes;

  bool any_slower() const;
};

// Two runs are compared whatever they are (differences are noted). Two folders
// of runs are compared configuration by configuration. Error{Fault::config}
// when they have none in common, Error{Fault::store} for what cannot be read.
Comparison compare_folders(const std::filesystem::path& a,
                           const std::filesystem::path& b,
                           const CompareRunsOptions& options);

Table compare_table(const Comparison& comparison);
std::string sentence_of(const Comparison& comparison);

}  // namespace lockstep
