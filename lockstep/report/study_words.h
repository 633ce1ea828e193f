// SPDX-License-Identifier: Apache-2.0
// Pieces of a study's answer: what a configuration is called, how an interval
// is said, and what would change the choice.
#pragma once

#include <string>

#include "lockstep/analyse/study_runs.h"

namespace lockstep {

// Its time was measured: it may be chosen.
bool counts(const StudyPoint& point);

std::string devices(std::int64_t n);  // "1 device", "4 devices"
// "4 devices, batch 8 on each (32 in all)"; shares of a batch that does not
// divide are named: "batch 30 in all (7 or 8 on each)".
std::string place(const StudyPoint& point);
// "387 ms to 391 ms", or by how little it differs where that cannot be seen.
std::string interval_words(double low_s, double value_s, double high_s);

std::string what_would_change(const Study& study, const StudyPoint& choice);

}  // namespace lockstep
