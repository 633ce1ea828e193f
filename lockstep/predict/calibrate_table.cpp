// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/calibrate_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lockstep/config/data.h"
#include "lockstep/config/field.h"
#include "lockstep/config/run_config.h"
#include "lockstep/core/table.h"
#include "lockstep/core/text.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/predict/table_row.h"

namespace lockstep {
namespace {

constexpr double kMost = 1e15;

[[noreturn]] void wrong(const Csv& csv, const CsvRow& row,
                        const std::string& what, const std::string& hint = {}) {
  throw Error(Fault::config, csv.place(row), what, hint);
}

double positive(const Csv& csv, const CsvRow& row, const char* column) {
  const std::string& cell = row.cells[csv.required(column, Fault::config)];
  const auto value = parse_number<double>(trim(cell));
  if (!value || !std::isfinite(*value) || *value <= 0 || *value > kMost)
    wrong(csv, row,
          fmt::format("{}: '{}' is not a number above zero", column, cell));
  return *value;
}

std::string built_in(const std::string& name) {
  if (name == "conv") return "conv1d";
  if (name == "mobilenetv2") return "mobilenet_v2";
  return name;
}

const std::vector<std::string>& model_words() {
  static const std::vector<std::string> words = [] {
    RunConfig config;
    for (const Field& f : fields_of(config))
      if (f.dotted() == "model.kind") return f.words;
    return std::vector<std::string>{};
  }();
  return words;
}

double param_bytes(const std::string& name) {
  const auto& words = model_words();
  const auto found = std::ranges::find(words, built_in(name));
  if (found == words.end()) return 0;
  ModelConfig config;
  config.kind = static_cast<ModelKind>(found - words.begin());
  return static_cast<double>(plan_work(with_own_sizes(config)).param_bytes());
}

EpochRun read_run(const Csv& csv, const CsvRow& row) {
  EpochRun out;
  out.model = trim(row.cells[csv.required("model", Fault::config)]);
  out.param_bytes = param_bytes(out.model);
  if (out.param_bytes == 0)
    wrong(csv, row, fmt::format("'{}' is not a built-in model", out.model),
          fmt::format("one of conv, mobilenetv2, {}",
                      fmt::join(model_words(), ", ")));
  const double gpus = positive(csv, row, "gpus");
  if (gpus != std::floor(gpus) || gpus > kMostGpus)
    wrong(csv, row, fmt::format("gpus: {} is not a number of GPUs", gpus));
  out.gpus = static_cast<int>(gpus);
  out.batch = positive(csv, row, "batch");
  if (out.batch < 1) wrong(csv, row, "batch: is below one sample");
  return out;
}

}  // namespace

std::vector<EpochRun> measured_epochs(const Csv& csv) {
  for (const char* column : {"model", "gpus", "batch", "epoch_s"})
    csv.required(column, Fault::config);
  std::vector<EpochRun> out;
  for (const CsvRow& row : csv.rows) {
    EpochRun run = read_run(csv, row);
    run.epoch_s = positive(csv, row, "epoch_s");
    out.push_back(run);
  }
  return out;
}

double epoch_samples_of(const Csv& csv) {
  if (!csv.column("samples") || csv.rows.empty()) return kDigitsSamples;
  return positive(csv, csv.rows.front(), "samples");
}

std::string predict_epochs(const Csv& in, const SystemFit& system) {
  for (const char* column : {"model", "gpus", "batch"})
    in.required(column, Fault::config);
  const auto skipped = in.column("epoch_s");
  std::string out;
  for (std::size_t i = 0; i < in.header.size(); ++i)
    if (i != skipped) out += csv_field(in.header[i]) + ",";
  out += "predicted_value,lo90,hi90,verdict,cause\n";
  for (const CsvRow& row : in.rows) {
    const EpochRun run = read_run(in, row);
    if (!system.steps.contains(run.model))
      wrong(in, row, fmt::format("no row of '{}' was measured", run.model));
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      if (i != skipped) out += csv_field(row.cells[i]) + ",";
    const EpochForecast f = forecast(system, run);
    out += fmt::format("{:.6g},{:.6g},{:.6g},{},{}\n", f.epoch_s, f.low_s,
                       f.high_s, word(f.verdict), word(f.cause));
  }
  return out;
}

}  // namespace lockstep
