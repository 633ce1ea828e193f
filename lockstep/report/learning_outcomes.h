// SPDX-License-Identifier: Apache-2.0
// What was learnt at each batch, means over seeds, and what its validation set
// can tell apart.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

// Studies write a scaled rate "linear" (derive.lr_rule) or "lr_rule=linear"
// (optim.lr_rule), square_root as well; a rate left as it was "", "fixed" or
// "lr_rule=none".
bool rate_scaled(const std::string& arm);
// Nothing but the learning rate sets these arms apart.
bool fixed_rate_arm(const std::string& arm);
bool scaled_rate_arm(const std::string& arm);

struct LearningOutcome {
  double val_accuracy = 0, gap = 0;  // gap: training less validation accuracy
  double epoch_s = 0;                // on one device; NaN: no run was timed
  int runs = 0, timed = 0;
  std::int64_t classes = 0, examples = 0;  // of validation; 0: not known

  // Better than a guess by more than the noise of its validation set.
  bool learnt() const;
};

// By global batch.
using Outcomes = std::map<std::int64_t, LearningOutcome>;
Outcomes outcomes_of(const Study& study,
                     const std::function<bool(const RunFacts&)>& wanted);
LearningOutcome outcome_of(const RunFacts& run);
// Of one configuration; no runs where none was evaluated at its end.
LearningOutcome outcome_of(const Study& study, const StudyPoint& point);

std::int64_t most_accurate(const Outcomes& outcomes);
// "16: 69.6 % in 281 ms an epoch, 32: ..."
std::string said(const Outcomes& outcomes);

double noise_between(const LearningOutcome& a, const LearningOutcome& b);
// Why nothing can be said of nets like this one.
std::string nothing_learnt(const LearningOutcome& best);
std::string within_noise(double noise, const LearningOutcome& of);

}  // namespace lockstep
