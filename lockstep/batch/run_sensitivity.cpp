// SPDX-License-Identifier: Apache-2.0
// sensitivity_of(): settings and outcomes of runs as series.
#include <algorithm>
#include <cmath>

#include "lockstep/batch/compare.h"
#include "lockstep/batch/run_groups.h"

namespace lockstep {
namespace {

bool never_changes(const Series& s) {
  return std::ranges::all_of(s.values,
                             [&](double v) { return v == s.values.front(); });
}

std::vector<Series> settings_of(const BatchRuns& runs) {
  std::vector<Series> out = {{"global_batch", {}}, {"lr", {}}, {"ranks", {}}};
  for (const BatchRun& run : runs.runs) {
    out[0].values.push_back(run.batch);
    out[1].values.push_back(std::isfinite(run.lr) ? run.lr : 0);
    out[2].values.push_back(static_cast<double>(run.ranks));
  }
  std::erase_if(out, never_changes);
  return out;
}

}  // namespace

std::vector<Sensitivity> sensitivity_of(const BatchRuns& runs,
                                        const CompareOptions& options) {
  if (!runs.independent || runs.runs.empty()) return {};
  const CriterionOptions by = criterion_options(runs, options);
  double best = 0;
  for (const BatchRun& run : runs.runs)
    best = std::max(best, information_curve(run).last());
  const double target = by.target_nats.value_or((1 - by.delta) * best);
  std::vector<Series> outcomes = {{"information_rate", {}},
                                  {"final_information", {}},
                                  {"best_accuracy", {}},
                                  {"step_s", {}}};
  for (const BatchRun& run : runs.runs) {
    const Envelope e = information_curve(run);
    const auto t = time_to(e, target, by.crossing);
    const double lost = std::nan("");
    outcomes[0].values.push_back(run.diverged ? lost : t ? target / *t : 0);
    outcomes[1].values.push_back(run.diverged ? lost : e.last());
    outcomes[2].values.push_back(run.diverged ? lost : best_accuracy(run));
    outcomes[3].values.push_back(run.step_s);
  }
  return measure_sensitivity(settings_of(runs), outcomes);
}

}  // namespace lockstep
