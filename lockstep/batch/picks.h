// SPDX-License-Identifier: Apache-2.0
// What each criterion picks from the rows of a comparison, in the order they
// are shown. Used by compare.cpp alone.
#pragma once

#include <span>
#include <vector>

#include "lockstep/batch/compare.h"

namespace lockstep {

// The information criterion's answer in words.
Pick pick_by_information(const InformationChoice& choice,
                         const ChoiceInterval& interval);

// Adds goodput, gradient channel, noise scale, plain time, plain accuracy, and
// to every pick what it would have cost. Fills in efficiency and goodput of the
// rows on the way. `points` are step times of this number of ranks;
// `sampling_se` is that of an accuracy, 0: not known.
void add_picks(BatchComparison& c, std::span<const StepTime> points,
               double sampling_se);

}  // namespace lockstep
