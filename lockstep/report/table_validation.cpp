// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/table_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/core/file.h"
#include "lockstep/core/json.h"
#include "lockstep/core/table.h"

namespace lockstep {
namespace {

Json json_of(const TableScore& s, bool with_interval) {
  Json out = {{"rows", s.rows},
              {"mean_error", s.mean_error},
              {"p95_error", s.p95_error},
              {"bias", s.bias},
              {"right_verdicts", s.right_verdicts}};
  if (with_interval) out["coverage"] = s.coverage;
  if (with_interval) out["mean_high_over_low"] = s.mean_width;
  return out;
}

TableScore perfect(const HeldRows& rows) {
  return score(rows, [](const HeldBack&) { return 1.0; });
}
TableScore class_median(const HeldRows& rows) {
  return score(rows, [](const HeldBack& r) { return r.class_median; });
}

std::map<std::string, HeldRows> split_by(const HeldRows& rows,
                                         std::string (*key)(const HeldBack&)) {
  std::map<std::string, HeldRows> out;
  for (const HeldBack& r : rows) out[key(r)].push_back(r);
  return out;
}
std::string link_of(const HeldBack& r) { return r.row.link_class; }
std::string gpus_of(const HeldBack& r) {
  return fmt::format("{:4}", r.row.gpus);
}

Json part_json(const HeldRows& rows, std::string (*key)(const HeldBack&)) {
  Json out = Json::object();
  for (const auto& [name, part] : split_by(rows, key))
    out[name] = json_of(score(part), true);
  return out;
}

// "model" of "model and GPU": for names of files and columns.
std::string short_word(const TableValidation& v) {
  const std::string name(word(v.together));
  return name.substr(0, name.find(' '));
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string line(const std::string& name, const TableScore& s, bool interval) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name, s.rows,
                     percent(s.mean_error), percent(s.p95_error),
                     percent(s.bias), percent(s.right_verdicts),
                     interval ? percent(s.coverage) : "");
}

constexpr const char* kHead =
    "| | rows | mean error % | p95 % | bias % | verdicts right % | inside 90 % "
    "interval % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";

std::string section(const TableValidation& v) {
  const std::string name(word(v.together));
  std::string out = fmt::format("## Held back by {}\n\n{}", name, kHead) +
                    line("**lockstep predict --table**", score(v.rows), true) +
                    line("class median", class_median(v.rows), false) +
                    line("perfect scaling", perfect(v.rows), false) + "\n" +
                    kHead;
  for (const auto& [link, rows] : split_by(v.rows, link_of))
    out += line(link, score(rows), true);
  for (const auto& [gpus, rows] : split_by(v.rows, gpus_of))
    out += line(gpus + " GPUs", score(rows), true);
  return out +
         fmt::format("\n![predicted against measured](predicted_by_{}.svg)\n\n",
                     short_word(v));
}

// Of the first way of holding back, a line a row.
std::string rows_csv(const TableValidation& v) {
  std::string out =
      "model,gpu,ic_class,gpus,measured_efficiency,predicted,lo90,hi90\n";
  for (const HeldBack& r : v.rows)
    out += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n",
                       csv_field(r.row.model), csv_field(r.row.gpu),
                       r.row.link_class, r.row.gpus, r.measured, r.predicted,
                       r.predicted * std::exp(-r.spread),
                       r.predicted * std::exp(r.spread));
  return out;
}

std::string json_text(const std::string& command,
                      const std::vector<TableValidation>& validations,
                      const EpochValidation& epochs) {
  Json out = {
      {"schema", 1}, {"command", command}, {"held_back_by", Json::object()}};
  out["epochs"] = epochs_json(epochs);
  out["repeats"] = errors_json(validations.front().rows);
  for (const TableValidation& v : validations)
    out["held_back_by"][std::string(word(v.together))] = {
        {"lockstep", json_of(score(v.rows), true)},
        {"class_median", json_of(class_median(v.rows), false)},
        {"perfect_scaling", json_of(perfect(v.rows), false)},
        {"by_link", part_json(v.rows, link_of)},
        {"by_gpus", part_json(v.rows, gpus_of)}};
  return out.dump(2) + "\n";
}

}  // namespace

void write_validation(const std::filesystem::path& folder,
                      const std::string& command,
                      const std::vector<TableValidation>& validations,
                      const EpochValidation& epochs) {
  std::filesystem::create_directories(folder);
  write_file(folder / "validation.json",
             json_text(command, validations, epochs));
  write_file(folder / "validation.csv", rows_csv(validations.front()));
  write_file(folder / "epochs.csv", epochs_csv(epochs));
  std::string text =
      "# Predictions of published curves\n\nPredicted, then compared: rows are "
      "held back in whole groups, the constants are fitted on the rest, the "
      "rows held back are predicted. Errors are of the predicted value. All "
      "rows count, faulty ones too. Made by\n\n    " +
      command + "\n\n";
  for (const TableValidation& v : validations) {
    text += section(v);
    write_file(
        folder / ("predicted_by_" + short_word(v) + ".svg"),
        scatter_svg(v.rows, "held back by " + std::string(word(v.together))));
  }
  write_file(
      folder / "README.md",
      text + errors_section(validations.front().rows) + epochs_section(epochs));
}

}  // namespace lockstep
