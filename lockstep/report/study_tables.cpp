// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/study_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/core/units.h"
#include "lockstep/predict/verdict.h"
#include "lockstep/report/cells.h"
#include "lockstep/report/study_columns.h"

namespace lockstep {
namespace {

Column ms(const char* name, const char* title) {
  return {.name = name, .title = title, .unit = "(ms)", .show = scaled(1e3, 3)};
}
Column plain(const char* name, const char* title, int decimals) {
  return {.name = name, .title = title, .show = scaled(1, decimals)};
}
Column bytes(const char* name, const char* title) {
  return {.name = name, .title = title, .show = with(format_bytes)};
}

std::vector<Column> run_columns() {
  return {{.name = "run"},
          {.name = "status"},
          {.name = "model"},
          {.name = "device"},
          {.name = "strategy"},
          {.name = "ranks"},
          {.name = "global_batch", .title = "batch"},
          {.name = "epochs"},
          ms("median_step_s", "step"),
          plain("samples_per_s", "samples/s", 0),
          seconds_column("median_epoch_s", "epoch", 3),
          seconds_column("median_epoch_with_loading_s", "with loading", 3),
          percent_column("final_train_accuracy", "train acc.", 2),
          percent_column("final_val_accuracy", "val. acc.", 2)};
}

// Beyond what the text table has room for.
std::vector<Column> more_columns() {
  return {{.name = "per_rank"},
          {.name = "seed"},
          {.name = "lr"},
          {.name = "origin"},
          {.name = "step_lo95_s"},
          {.name = "step_hi95_s"},
          {.name = "timed_steps"},
          {.name = "data_s"},
          {.name = "copy_s"},
          {.name = "forward_s"},
          {.name = "backward_s"},
          {.name = "comm_s"},
          {.name = "exposed_comm_s"},
          {.name = "optim_s"},
          {.name = "wait_s"},
          {.name = "imbalance"},
          {.name = "bus_bytes_per_s"},
          {.name = "peak_memory_bytes"},
          {.name = "final_train_loss"},
          {.name = "final_val_loss"},
          {.name = "host"},
          {.name = "hardware"},
          {.name = "reason"},
          {.name = "label"},
          {.name = "arm"}};
}

std::vector<Cell> pieces_cells(const StepPieces& p) {
  return {cell(p.data_s),     cell(p.copy_s), cell(p.forward_s),
          cell(p.backward_s), cell(p.comm_s), cell(p.exposed_comm_s),
          cell(p.optim_s),    cell(p.wait_s)};
}

double last_of(const RunFacts& run, double EpochSample::*field) {
  return run.epochs.empty() ? std::nan("") : run.epochs.back().*field;
}

std::vector<Cell> run_row(const RunFacts& run) {
  const double rate =
      run.timed() ? static_cast<double>(run.global_batch) / run.step.value
                  : std::nan("");
  std::vector<Cell> row = {
      run.name,
      run.status,
      run.model,
      run.device,
      run.strategy,
      run.ranks,
      run.global_batch,
      static_cast<std::int64_t>(run.epochs.size()),
      run.timed() ? Cell(run.step.value) : Cell(),
      cell(rate),
      run.epoch_without_loading_s > 0 ? Cell(run.epoch_without_loading_s)
                                      : Cell(),
      run.epoch_s > 0 ? Cell(run.epoch_s) : Cell(),
      cell(last_of(run, &EpochSample::train_accuracy)),
      cell(last_of(run, &EpochSample::val_accuracy)),
      run.per_rank,
      run.seed,
      cell(run.lr),
      std::string(run.emulated                ? "emulated"
                  : run.mode == "correctness" ? "correctness"
                  : run.not_timed.empty()     ? "measured"
                                              : "ran, not timed"),
      cell(run.step.low),
      cell(run.step.high),
      static_cast<std::int64_t>(run.step.count)};
  for (Cell& piece : pieces_cells(run.pieces)) row.push_back(std::move(piece));
  for (Cell more : std::vector<Cell>{
           cell(run.imbalance), cell(run.bus_bytes_per_s),
           cell(run.peak_memory_bytes),
           cell(last_of(run, &EpochSample::train_loss)),
           cell(last_of(run, &EpochSample::val_loss)), run.host, run.hardware,
           run.reason.empty() ? run.not_timed : run.reason, run.label, run.arm})
    row.push_back(std::move(more));
  return row;
}

// The words are for going from one device to N.
Cell verdict_cell(const ScalingSeries& series, const ScalingStep& step) {
  if (&step == &series.steps.front()) return std::string("base");
  if (series.steps.front().ranks != 1) return Cell();
  return std::string(
      word(verdict_of(step.speedup.value, static_cast<double>(step.ranks))));
}

// A point that did not run, in the columns of a run.
std::vector<Cell> unrun_row(const StudyPoint& p, std::size_t width) {
  std::vector<Cell> row(width);
  row[0] = std::string(), row[1] = std::string(word(p.origin));
  row[2] = p.model, row[3] = p.device, row[4] = p.strategy, row[5] = p.ranks;
  row[6] = p.global_batch, row[8] = cell(p.step.value);
  row[9] = cell(p.samples_per_s), row[11] = cell(p.epoch_s);
  row[14] = p.per_rank, row[17] = std::string(word(p.origin));
  row[width - 3] = p.why, row[width - 1] = p.arm;
  return row;
}

}  // namespace

StudyFindings find_out(const Study& study) {
  StudyFindings out{.scaling = scaling_of(study),
                    .laws = {},
                    .saturation = saturations_of(study)};
  for (const ScalingSeries& series : out.scaling)
    out.laws.push_back(fit_laws(series));
  return out;
}

Table runs_table(const Study& study, Width width) {
  Table table{.verb = "report", .columns = run_columns()};
  for (Column& column : more_columns()) table.columns.push_back(column);
  for (const RunFacts& run : study.runs) {
    table.add(run_row(run));
    if (width == Width::screen && !run.label.empty())
      table.rows.back()[0] = run.label;
  }
  for (const StudyPoint& p : study.points)
    if (p.runs.empty()) {
      table.add(unrun_row(p, table.columns.size()));
      if (width == Width::screen) table.rows.back()[0] = p.arm;
    }
  if (width == Width::screen) {
    table.columns.resize(run_columns().size());
    for (auto& row : table.rows) row.resize(table.columns.size());
  }
  return table;
}

Table points_table(const Study& study) {
  Table table{.verb = "report",
              .columns = {{.name = "model"},
                          {.name = "strategy"},
                          {.name = "arm"},
                          {.name = "hardware"},
                          {.name = "origin"},
                          {.name = "ranks"},
                          {.name = "per_rank", .title = "a rank"},
                          {.name = "global_batch", .title = "batch"},
                          {.name = "runs"},
                          {.name = "timed_steps", .title = "steps"},
                          ms("step_s", "step"),
                          ms("step_lo95_s", "from"),
                          ms("step_hi95_s", "to"),
                          seconds_column("epoch_s", "epoch", 3),
                          seconds_column("epoch_lo_s", "from", 3),
                          seconds_column("epoch_hi_s", "to", 3),
                          plain("samples_per_s", "samples/s", 0)}};
  for (const char* piece : {"data_s", "copy_s", "forward_s", "backward_s",
                            "comm_s", "exposed_comm_s", "optim_s", "wait_s"})
    table.columns.push_back(ms(piece, ""));
  for (Column column :
       {plain("imbalance", "", 3), bytes("bus_bytes_per_s", "bus a second"),
        bytes("peak_bus_bytes_per_s", "best"),
        bytes("peak_memory_bytes", "memory"), bytes("bytes_a_step", "sent"),
        percent_column("best_val_accuracy", "best val. acc.", 2),
        Column{.name = "batch_changes", .title = "batch changes"},
        Column{.name = "why"}})
    table.columns.push_back(std::move(column));
  for (const StudyPoint& p : study.points) {
    std::vector<Cell> row = {p.model,
                             p.strategy,
                             p.arm,
                             p.hardware,
                             std::string(word(p.origin)),
                             p.ranks,
                             p.per_rank,
                             p.global_batch,
                             static_cast<std::int64_t>(p.runs.size()),
                             static_cast<std::int64_t>(p.step.count),
                             cell(p.step.value),
                             cell(p.step.low),
                             cell(p.step.high),
                             cell(p.epoch_s),
                             cell(p.epoch_low_s),
                             cell(p.epoch_high_s),
                             cell(p.samples_per_s)};
    for (Cell& piece : pieces_cells(p.pieces)) row.push_back(std::move(piece));
    for (const double v :
         {p.imbalance, p.bus_bytes_per_s, p.peak_bus_bytes_per_s,
          p.peak_memory_bytes, p.bytes_a_step, p.best_val_accuracy})
      row.push_back(cell(v));
    row.emplace_back(p.batch_changes);
    row.push_back(p.why);
    table.add(std::move(row));
  }
  return table;
}

Table scaling_table(const Study& study, const StudyFindings& findings) {
  Table table{.verb = "report",
              .columns = {{.name = "scaling"},
                          {.name = "model"},
                          {.name = "strategy"},
                          {.name = "arm"},
                          {.name = "origin"},
                          {.name = "batch"},
                          {.name = "ranks"},
                          ms("step_s", "step"),
                          plain("speedup", "speed-up", 2),
                          plain("speedup_lo95", "from", 2),
                          plain("speedup_hi95", "to", 2),
                          percent_column("efficiency", "", 2),
                          {.name = "verdict"},
                          ms("exposed_comm_s", "exposed"),
                          ms("comm_by_subtraction_s", "by subtraction")}};
  for (const ScalingSeries& series : findings.scaling)
    for (const ScalingStep& s : series.steps) {
      const StudyPoint& p = study.points[s.point];
      table.add(
          {std::string(series.kind == ScalingKind::weak ? "weak" : "strong"),
           series.model, series.strategy, series.arm,
           std::string(word(p.origin)), series.batch, s.ranks,
           cell(p.step.value), cell(s.speedup.value), cell(s.speedup.low),
           cell(s.speedup.high), cell(s.efficiency.value),
           verdict_cell(series, s), cell(p.pieces.exposed_comm_s),
           cell(s.comm_by_subtraction_s)});
    }
  return table;
}

Table laws_table(const StudyFindings& findings) {
  Table table{.verb = "report",
              .columns = {{.name = "scaling"},
                          {.name = "model"},
                          {.name = "strategy"},
                          {.name = "arm"},
                          {.name = "batch"},
                          {.name = "law"},
                          percent_column("serial", "serial share", 2),
                          percent_column("serial_lo95", "from", 2),
                          percent_column("serial_hi95", "to", 2),
                          plain("coherence", "", 5),
                          plain("coherence_lo95", "from", 5),
                          plain("coherence_hi95", "to", 5),
                          percent_column("rms", "misses by", 2),
                          plain("peak_ranks", "best at ranks", 1),
                          {.name = "warnings"}}};
  for (std::size_t i = 0; i < findings.scaling.size(); ++i)
    for (const LawFit& fit : findings.laws[i]) {
      const ScalingSeries& series = findings.scaling[i];
      const bool usl = fit.law == Law::usl;
      const auto coherence = [&](double v) { return usl ? cell(v) : Cell(); };
      std::string warnings;
      for (const std::string& warning : fit.warnings)
        warnings += (warnings.empty() ? "" : "; ") + warning;
      table.add(
          {std::string(series.kind == ScalingKind::weak ? "weak" : "strong"),
           series.model, series.strategy, series.arm, series.batch,
           std::string(word(fit.law)), cell(fit.values.serial),
           cell(fit.low.serial), cell(fit.high.serial),
           coherence(fit.values.coherence), coherence(fit.low.coherence),
           coherence(fit.high.coherence), cell(fit.rms), cell(fit.peak_ranks),
           warnings});
    }
  return table;
}

Table saturation_table(const StudyFindings& findings) {
  Table table{.verb = "report",
              .columns = study_columns({plain("per_rank", "a device", 1),
                                        plain("per_rank_lo95", "from", 1),
                                        plain("per_rank_hi95", "to", 1),
                                        plain("slope", "", 2),
                                        seconds_column("floor_s", "floor", 3),
                                        percent_column("rms", "misses by", 2),
                                        {.name = "note"}})};
  for (const SaturationRow& row : findings.saturation)
    table.add({row.model, row.strategy, row.arm, std::string(word(row.origin)),
               row.ranks, cell(row.at.per_rank), cell(row.at.low),
               cell(row.at.high), cell(row.at.slope), cell(row.at.floor_s),
               cell(row.at.rms), row.at.note});
  return table;
}

}  // namespace lockstep
