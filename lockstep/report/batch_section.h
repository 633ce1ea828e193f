// SPDX-License-Identifier: Apache-2.0
// The part of a study's report that is about batch sizes: what `lockstep batch`
// says, or in one line why it cannot.
#pragma once

#include <optional>
#include <string>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/report/batch_report.h"

namespace lockstep {

struct BatchSection {
  std::optional<BatchReport> report = {};
  std::string pointer = {};  // where to ask, or why there is no answer
};

// Empty for a study of one batch size. `more` is for its one folder.
BatchSection batch_section(const Study& study,
                           const std::optional<DevicesAsked>& more);

// {answer, context, rows, choices, curve, devices, pointer} for the page; null
// for an empty one.
Json to_json(const BatchSection& section);
// The same for people.
std::string to_text(const BatchSection& section, bool markdown);

}  // namespace lockstep
