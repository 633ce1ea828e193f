// SPDX-License-Identifier: Apache-2.0
// One recommendation out of many predictions: how many devices, which batch,
// which strategy, and the reasons. Time and money are predicted; what a larger
// batch costs in progress comes from the noise scale, or is said to be unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/analyse/target_evidence.h"
#include "lockstep/predict/grid.h"

namespace lockstep {

struct Goal {
  double samples = 0;                // to be seen in all, at the base batch
  double base_batch = 0;             // global batch the recipe was tuned at
  double base_lr = 0;                // 0: unknown
  double noise_scale = 0;            // 0: unknown
  double price_per_device_hour = 0;  // 0: unknown; in the user's currency
  double budget = 0;                 // 0: none; in the same currency
  double deadline_s = 0;             // 0: none
  // Set when an accuracy is asked for: `samples` then leads to it.
  std::optional<TargetEvidence> evidence = {};
  std::string evidence_from = {};  // the folder, as named
};

// One way to train, with what it would cost.
struct Choice {
  std::string label;  // what it is in the advice: choice, next_best, …
  std::size_t cluster = 0;
  Prediction prediction;
  double progress = 1;  // of one sample against one at the base batch
  double time_s = 0, lo90_s = 0, hi90_s = 0;
  double device_hours = 0;
  double money = 0;  // NaN: no price
  double lr = 0;     // 0: unknown
};

struct Advice {
  Choice choice;
  bool goal_met = true;  // false: no configuration keeps budget or deadline
  std::vector<Choice> ranking;  // all that fit in memory, the best first
  std::optional<Choice> next_best, more_devices;
  std::vector<Choice> remedies;
  std::string sentence;
  std::vector<std::string> evidence;
};

// Nearly as fast on fewer devices is better: this much slower is nearly.
constexpr double kNearlyAsFast = 1.05;

// Every point of the grid that fits into memory, priced, the fastest first.
// Error{Fault::config} when none does.
std::vector<Choice> rank(const Subject& subject, const Grid& grid,
                         const Goal& goal);
// The choice out of a ranking in any order, and what it was weighed against.
Advice settle(std::vector<Choice> ranking, const Goal& goal);

// Both, with remedies and words.
Advice advise(const Subject& subject, const Grid& grid, const Goal& goal);

}  // namespace lockstep
