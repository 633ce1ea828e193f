// SPDX-License-Identifier: Apache-2.0
// A study as tables: every run, every point, speed-ups, laws, saturation.
#pragma once

#include "lockstep/analyse/laws.h"
#include "lockstep/analyse/saturation.h"
#include "lockstep/analyse/scaling.h"
#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"
#include "lockstep/report/batch_section.h"

namespace lockstep {

// Everything computed from the runs, once.
struct StudyFindings {
  std::vector<ScalingSeries> scaling;
  std::vector<std::vector<LawFit>> laws;  // of each series
  std::vector<SaturationRow> saturation;
  BatchSection batch = {};  // empty until batch_section() was asked
};
StudyFindings find_out(const Study& study);

// A row for each run, then one for each point that did not run. On a screen
// there is room for the first columns only.
enum class Width { screen, all };
Table runs_table(const Study& study, Width width = Width::all);
Table points_table(const Study& study);
Table scaling_table(const Study& study, const StudyFindings& findings);
Table laws_table(const StudyFindings& findings);
Table saturation_table(const StudyFindings& findings);
// Compute, communication, input and waiting as shares of a step; bandwidth
// against the link's peak; memory.
Table shares_table(const Study& study);
// Messages, bytes and seconds a step of each payload, of points that sent any.
Table payload_table(const Study& study);

}  // namespace lockstep
