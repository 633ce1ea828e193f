// SPDX-License-Identifier: Apache-2.0
// The epochs' part of the validation report: a table a model and number of
// GPUs, and every epoch in a CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/report/table_validation.h"

namespace lockstep {
namespace {

struct EpochScore {
  std::size_t rows = 0;
  double mean_error = 0, largest_error = 0, bias = 0, coverage = 0;
};

EpochScore epoch_score(const std::vector<HeldBackEpoch>& rows) {
  EpochScore out;
  out.rows = rows.size();
  for (const HeldBackEpoch& r : rows) {
    const auto n = static_cast<double>(rows.size());
    out.mean_error += std::abs(r.error()) / n;
    out.largest_error = std::max(out.largest_error, std::abs(r.error()));
    out.bias += r.error() / n;
    out.coverage += r.covered() ? 1 / n : 0;
  }
  return out;
}

std::map<std::string, std::vector<HeldBackEpoch>> by_part(
    const std::vector<HeldBackEpoch>& rows) {
  std::map<std::string, std::vector<HeldBackEpoch>> out;
  for (const HeldBackEpoch& r : rows)
    out[fmt::format("{}, {} GPUs", r.run.model, r.run.gpus)].push_back(r);
  if (!rows.empty()) out["all"] = rows;
  return out;
}

std::string strong_lines(const std::vector<HeldBackEpoch>& rows) {
  std::string out =
      "| total batch 32 | measured s | predicted s | 90 % interval |\n| --- | "
      "---: | ---: | --- |\n";
  for (const HeldBackEpoch& r : rows)
    out += fmt::format("| {} GPUs | {:.1f} | {:.1f} | {:.0f} to {:.0f} |\n",
                       r.run.gpus, r.run.epoch_s, r.forecast.epoch_s,
                       r.forecast.low_s, r.forecast.high_s);
  return out;
}

}  // namespace

Json epochs_json(const EpochValidation& v) {
  Json out = Json::object();
  for (const auto& [name, rows] : by_part(v.held_back)) {
    const EpochScore s = epoch_score(rows);
    out["held_back_gpus"][name] = {{"rows", s.rows},
                                   {"mean_error", s.mean_error},
                                   {"largest_error", s.largest_error},
                                   {"bias", s.bias},
                                   {"coverage", s.coverage}};
  }
  for (const HeldBackEpoch& r : v.strong)
    out["strong_from_weak"].push_back({{"gpus", r.run.gpus},
                                       {"measured_s", r.run.epoch_s},
                                       {"predicted_s", r.forecast.epoch_s},
                                       {"lo90", r.forecast.low_s},
                                       {"hi90", r.forecast.high_s}});
  return out;
}

std::string epochs_csv(const EpochValidation& v) {
  std::string out = "model,gpus,batch,measured_s,predicted_s,lo90,hi90\n";
  for (const auto* rows : {&v.held_back, &v.strong})
    for (const HeldBackEpoch& r : *rows)
      out +=
          fmt::format("{},{},{:.0f},{:.6g},{:.6g},{:.6g},{:.6g}\n", r.run.model,
                      r.run.gpus, r.run.batch, r.run.epoch_s,
                      r.forecast.epoch_s, r.forecast.low_s, r.forecast.high_s);
  return out;
}

std::string epochs_section(const EpochValidation& v) {
  std::string out =
      "## Epochs of a calibrated system\n\nEvery epoch of a model on a number "
      "of GPUs is held back, the system's loading, link and exchange are "
      "fitted on the rest, the epochs held back are predicted (epochs.csv).\n"
      "\n| | epochs | mean error % | largest % | bias % | inside 90 % "
      "interval % |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [name, rows] : by_part(v.held_back)) {
    const EpochScore s = epoch_score(rows);
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n",
                       name, s.rows, 100 * s.mean_error, 100 * s.largest_error,
                       100 * s.bias, 100 * s.coverage);
  }
  return out +
         "\nResNet-18 on CIFAR-10, seconds an epoch, fitted on weak scaling "
         "alone (32, 128, 512 samples a GPU on 1, 2, 4 GPUs). Eight and "
         "sixteen samples a GPU are below anything measured, so the interval "
         "is wide.\n\n" +
         strong_lines(v.strong) + "\n";
}

}  // namespace lockstep
