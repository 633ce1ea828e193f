// SPDX-License-Identifier: Apache-2.0
// Tables and whole studies as Markdown, for pages that are read as text.
#pragma once

#include <string>

#include "lockstep/core/table.h"
#include "lockstep/report/study_answer.h"
#include "lockstep/report/study_tables.h"

namespace lockstep {

// | a | b |, numbers to the right, units in the head.
std::string to_markdown(const Table& table);

std::string study_markdown(const Study& study, const StudyFindings& findings,
                           const std::vector<StudyAnswer>& answers);

// The same for a terminal.
std::string study_text(const Study& study, const StudyFindings& findings,
                       const std::vector<StudyAnswer>& answers);

}  // namespace lockstep
