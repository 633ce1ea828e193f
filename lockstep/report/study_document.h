// SPDX-License-Identifier: Apache-2.0
// A whole study as one JSON document: what `lockstep report --json` prints and
// what the page draws, so that neither can say what the other does not.
#pragma once

#include <filesystem>

#include "lockstep/core/json.h"
#include "lockstep/report/study_answer.h"
#include "lockstep/report/study_tables.h"

namespace lockstep {

// Accuracy and loss curves are drawn for so many runs at most; the document
// says how many it left out.
constexpr std::size_t kMostRunCurves = 48;

// {schema, verb, rows, answers, points, scaling, laws, saturation, sizes,
// curves, waterfall, machines, notes, commands, …}
Json study_document(const Study& study, const StudyFindings& findings,
                    const std::vector<StudyAnswer>& answers);

// One median step of a run, its pieces and messages on one axis; null when no
// run of several ranks kept its messages.
Json waterfall_of(const Study& study, const std::vector<StudyAnswer>& answers);

// Rows of objects as {columns: […], rows: [[…], …]}: a third of the bytes.
Json columnar(const Json& rows);

}  // namespace lockstep
