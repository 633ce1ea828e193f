// SPDX-License-Identifier: Apache-2.0
// The answer of a study in words, for each model: how many devices, which
// batch, how sure that is, why, and what would change it.
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/scaling.h"
#include "lockstep/analyse/study_runs.h"

namespace lockstep {

struct StudyAnswer {
  std::string model;
  std::size_t point = 0;  // the choice, a position in Study::points
  std::string sentence, how_sure, why, what_would_change;
};

// Nearly as fast on fewer devices, or at a smaller batch, is better.
constexpr double kNearlyAsFastEpoch = 1.05;
// Batches whose best accuracy lies further below the best are not chosen.
constexpr double kAccuracyLoss = 0.02;

// One for each model that has a timed point; measured points decide.
std::vector<StudyAnswer> answers_of(const Study& study,
                                    const std::vector<ScalingSeries>& scaling);

// "scales, because …" of one step of a series, from its measured pieces.
std::string verdict_words(const Study& study, const ScalingSeries& series,
                          const ScalingStep& step);

}  // namespace lockstep
