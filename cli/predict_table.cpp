// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_table.h"

#include <cstdio>
#include <filesystem>

#include "lockstep/core/file.h"
#include "lockstep/predict/calibrate_table.h"
#include "lockstep/predict/table_fit.h"
#include "lockstep/predict/table_predict.h"
#include "lockstep/predict/table_validate.h"
#include "lockstep/report/table_validation.h"

namespace lockstep::cli {
namespace {

constexpr int kIntervalFolds = 10, kValidationFolds = 20;
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

Csv read_csv(const std::string& path) {
  return parse_csv(read_file(path, Fault::config, kMostBytes), path,
                   Fault::config);
}

void need(const std::string& value, const char* option, const char* with) {
  if (value.empty())
    throw Error(Fault::config, option, std::string("is needed with ") + with);
}

int fit(const TableAsked& asked) {
  const Csv csv = read_csv(asked.fit);
  const std::vector<MeasuredRow> rows = measured_rows(csv);
  TableConstants constants = fit_table(rows);
  constants.spread = calibrated_spread(
      hold_back(measured_table(csv), Together::model_and_gpu, kIntervalFolds));
  write_file(asked.out, constants_csv(constants, rows));
  std::fprintf(stderr, "# constants of %zu rows written to %s\n", rows.size(),
               asked.out.c_str());
  return 0;
}

int validate_table(const TableAsked& asked) {
  const std::vector<TableRow> rows = measured_table(read_csv(asked.validate));
  std::vector<TableValidation> done;
  for (const Together together :
       {Together::source, Together::repository, Together::model_and_gpu}) {
    std::fprintf(stderr, "# holding back by %s\n",
                 std::string(word(together)).c_str());
    const int folds = together == Together::repository ? 0 : kValidationFolds;
    done.push_back({together, hold_back(rows, together, folds)});
  }
  const Csv measured = read_csv(asked.calibrate);
  const EpochValidation epochs{
      hold_back_gpus(measured_epochs(measured), epoch_samples_of(measured)),
      strong_from_weak()};
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  write_validation(asked.out,
                   "lockstep predict --validate " + name(asked.validate) +
                       " --calibrate " + name(asked.calibrate) +
                       " --out FOLDER",
                   done, epochs);
  return 0;
}

void calibrated(const TableAsked& asked) {
  const Csv measured = read_csv(asked.calibrate);
  const std::vector<EpochRun> runs = measured_epochs(measured);
  const SystemFit system = calibrate(runs, epoch_samples_of(measured));
  const Csv in = read_csv(asked.table);
  write_file(asked.out, predict_epochs(in, system));
  std::fprintf(stderr,
               "# fitted on %zu epochs: loading %.3g s an epoch, link %.3g "
               "GB/s, %.3g ms an exchange\n",
               runs.size(), system.loading_s, system.bytes_per_s * 1e-9,
               system.exchange_s * 1e3);
  std::fprintf(stderr, "# %zu rows predicted, not measured, written to %s\n",
               in.rows.size(), asked.out.c_str());
}

}  // namespace

void declare(Options& options, TableAsked& asked) {
  options.value("--table", asked.table,
                "CSV of runs with their 1-GPU value: predict each row");
  options.value(
      "--calibrate", asked.calibrate,
      "CSV of epochs measured on a system (model,gpus,batch,epoch_s): "
      "fit it first, then predict --table's epochs on it");
  options.value("--out", asked.out, "where the predicted table goes");
  options.value("--validate", asked.validate,
                "hold back parts of a measured CSV and of --calibrate's, "
                "predict them, report to the folder --out");
  options.value("--fit", asked.fit,
                "maintenance: fit the table's constants to a measured CSV");
}

int run(const TableAsked& asked) {
  if (!asked.fit.empty()) {
    need(asked.out, "--out", "--fit");
    return fit(asked);
  }
  if (!asked.validate.empty()) {
    need(asked.out, "--out", "--validate");
    need(asked.calibrate, "--calibrate", "--validate");
    return validate_table(asked);
  }
  need(asked.table, "--table", "--out");
  need(asked.out, "--out", "--table");
  if (!asked.calibrate.empty()) {
    calibrated(asked);
    return 0;
  }
  const Csv in = read_csv(asked.table);
  write_file(asked.out, predict_table(in, table_constants()));
  std::fprintf(stderr, "# %zu rows predicted, not measured, written to %s\n",
               in.rows.size(), asked.out.c_str());
  return 0;
}

}  // namespace lockstep::cli
