// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/study_document.h"

#include <cmath>
#include <set>

#include "lockstep/core/clock.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/core/version.h"
#include "lockstep/report/batch_reasons.h"
#include "lockstep/report/claims.h"
#include "lockstep/report/epoch_lines.h"
#include "lockstep/report/layer_times.h"
#include "lockstep/report/learning_figures.h"
#include "lockstep/report/numbered_figures.h"
#include "lockstep/report/overfitting.h"
#include "lockstep/report/seed_figures.h"
#include "lockstep/report/size_map.h"
#include "lockstep/report/untimed_answer.h"

namespace lockstep {
namespace {

Json answers_json(const std::vector<StudyAnswer>& answers) {
  Json out = Json::array();
  for (const StudyAnswer& a : answers)
    out.push_back({{"model", a.model},
                   {"point", a.point},
                   {"sentence", a.sentence},
                   {"how_sure", a.how_sure},
                   {"why", a.why},
                   {"what_would_change", a.what_would_change}});
  return out;
}

Json series_json(const Study& study, const StudyFindings& findings) {
  Json out = Json::array();
  for (std::size_t i = 0; i < findings.scaling.size(); ++i) {
    const ScalingSeries& series = findings.scaling[i];
    Json steps = Json::array(), laws = Json::array();
    for (const ScalingStep& s : series.steps)
      steps.push_back({{"ranks", s.ranks},
                       {"point", s.point},
                       {"origin", word(study.points[s.point].origin)},
                       {"speedup", number_or_null(s.speedup.value)},
                       {"speedup_lo95", number_or_null(s.speedup.low)},
                       {"speedup_hi95", number_or_null(s.speedup.high)},
                       {"efficiency", number_or_null(s.efficiency.value)},
                       {"efficiency_lo95", number_or_null(s.efficiency.low)},
                       {"efficiency_hi95", number_or_null(s.efficiency.high)}});
    for (const LawFit& fit : findings.laws[i])
      laws.push_back({{"law", word(fit.law)},
                      {"serial", fit.values.serial},
                      {"coherence", fit.values.coherence},
                      {"max_ranks", fit.max_ranks}});
    out.push_back(
        {{"kind", series.kind == ScalingKind::weak ? "weak" : "strong"},
         {"model", series.model},
         {"strategy", series.strategy},
         {"arm", series.arm},
         {"hardware", series.hardware},
         {"origin", word(series.origin)},
         {"batch", series.batch},
         {"steps", std::move(steps)},
         {"laws", std::move(laws)}});
  }
  return out;
}

Json curve_of(const RunFacts& run) {
  Json out = {{"run", run.name},          {"model", run.model},
              {"strategy", run.strategy}, {"arm", run.arm},
              {"ranks", run.ranks},       {"per_rank", run.per_rank},
              {"seed", run.seed}};
  const auto put = [&](const char* name, double EpochSample::*field) {
    Json values = Json::array();
    for (const EpochSample& e : run.epochs)
      values.push_back(number_or_null(e.*field));
    out[name] = std::move(values);
  };
  put("train_loss", &EpochSample::train_loss);
  put("val_loss", &EpochSample::val_loss);
  put("train_accuracy", &EpochSample::train_accuracy);
  put("val_accuracy", &EpochSample::val_accuracy);
  return out;
}

// Evenly from all runs that have more than one epoch.
void add_curves(Json& out, const Study& study) {
  std::vector<const RunFacts*> with;
  for (const RunFacts& run : study.runs)
    if (run.epochs.size() > 1) with.push_back(&run);
  Json curves = Json::array();
  const std::size_t n = std::min(with.size(), kMostRunCurves);
  for (std::size_t i = 0; i < n; ++i)
    curves.push_back(curve_of(*with[i * with.size() / n]));
  out["curves"] = std::move(curves);
  out["curves_left_out"] = with.size() - n;
}

// The batch that information a second picks on one device; 0: none.
std::int64_t picked_by_information(const BatchSection& batch) {
  if (!batch.report) return 0;
  for (const Json& row : rows_json(batch.report->choices))
    if (row.value("criterion", "") == "information" && row["ranks"] == 1 &&
        row["global_batch"].is_number())
      return row["global_batch"].get<std::int64_t>();
  return 0;
}

Json commands_of(const Study& study) {
  std::set<std::string> seen;
  Json out = Json::array();
  if (!study.command.empty()) out.push_back(study.command);
  for (const RunFacts& run : study.runs)
    if (study.command.empty() && out.size() < 20 && !run.command.empty() &&
        seen.insert(run.command).second)
      out.push_back(run.command);
  return out;
}

}  // namespace

Json study_document(const Study& study, const StudyFindings& findings,
                    const std::vector<StudyAnswer>& answers) {
  Json out = to_json(runs_table(study));
  out["title"] = study.title.empty() ? study.paths.front() : study.title;
  out["kind"] = study.kind;
  out["made_utc"] = utc_now();
  out["version"] = version_text();
  out["answers"] = answers_json(answers);
  if (answers.empty()) out["untimed_answer"] = untimed_answer(study);
  out["notes"] = study.notes;
  out["machines"] = study.machines;
  out["points"] = rows_json(points_table(study));
  out["scaling"] = series_json(study, findings);
  out["speedups"] = rows_json(scaling_table(study, findings));
  out["shares"] = rows_json(shares_table(study));
  out["payloads"] = rows_json(payload_table(study));
  out["laws"] = rows_json(laws_table(findings));
  out["saturation"] = rows_json(saturation_table(findings));
  out["overfitting"] = rows_json(overfitting_table(study));
  const std::vector<SizeCell> sizes = size_map_of(study);
  out["sizes"] = rows_json(size_table(sizes));
  out["boundaries"] = to_json(boundaries_of(sizes));
  out["batch"] = to_json(findings.batch);
  out["claims"] = rows_json(claims_table(claims_of(study)));
  out["seed"] = rows_json(seed_table(study));
  out["seed_faults"] = Json::array();
  for (const std::string& fault : seed_faults(study.kind))
    out["seed_faults"].push_back({{"fault", fault}});
  const LayerFindings layers = layer_findings_of(study);
  out["layer_times"] = to_json(layers);
  out["layers"] = rows_json(layers_table(layers));
  out["layer_sentences"] = layer_sentences(layers);
  out["batch_reasons"] = rows_json(reasons_table(batch_reasons_of(study)));
  const std::vector<EpochLine> lines = epoch_lines_of(study);
  out["epoch_lines"] = to_json(lines);
  out["byte_lines"] = rows_json(byte_lines_table(lines));
  out["batch_lines"] = rows_json(batch_lines_table(lines));
  const std::vector<NumberedFigure> numbered = numbered_figures(study);
  out["numbered_figures"] = to_json(numbered);
  out["figures_not_drawn"] = figures_not_drawn(numbered);
  const std::vector<LearningFigure> learning =
      learning_figures(study, picked_by_information(findings.batch));
  out["learning_figures"] = to_json(learning);
  out["learning_not_drawn"] = learning_not_drawn(learning);
  add_curves(out, study);
  out["waterfall"] = waterfall_of(study, answers);
  out["commands"] = commands_of(study);
  return out;
}

Json columnar(const Json& rows) {
  Json columns = Json::array(), cells = Json::array();
  if (!rows.empty())
    for (const auto& [name, value] : rows[0].items()) columns.push_back(name);
  for (const Json& row : rows) {
    Json line = Json::array();
    for (const auto& [name, value] : row.items()) line.push_back(value);
    cells.push_back(std::move(line));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(cells)}};
}

}  // namespace lockstep
