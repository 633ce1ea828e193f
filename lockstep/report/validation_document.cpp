// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/validation_document.h"

#include <fmt/format.h>

#include "lockstep/core/clock.h"
#include "lockstep/core/csv.h"
#include "lockstep/core/file.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/core/text.h"
#include "lockstep/core/version.h"
#include "lockstep/report/cells.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const Json& part(const Json& object, const char* field) {
  if (!object.is_object() || !object.contains(field))
    throw Error(Fault::store, "validation.json",
                std::string("has no `") + field + "`",
                "`lockstep predict --validate` writes it anew");
  return object[field];
}

Table score_table(const Json& held_back_by) {
  Table out{.verb = "validation",
            .columns = {{.name = "held_back_by", .title = "held back by"},
                        {.name = "predictor"},
                        {.name = "rows"},
                        percent_column("mean_error", "mean error"),
                        percent_column("p95_error", "p95"),
                        percent_column("bias", "bias"),
                        percent_column("right_verdicts", "verdicts right"),
                        percent_column("coverage", "inside 90 % interval")}};
  for (const auto& [way, scores] : held_back_by.items())
    for (const auto& [name, field] :
         {std::pair{"lockstep predict --table", "lockstep"},
          {"class median", "class_median"},
          {"perfect scaling", "perfect_scaling"}}) {
      const Json& s = part(scores, field);
      out.add(
          {way, std::string(name), whole_in(s, "rows"),
           number_in(s, "mean_error"), number_in(s, "p95_error"),
           number_in(s, "bias"), number_in(s, "right_verdicts"),
           s.contains("coverage") ? Cell(number_in(s, "coverage")) : Cell()});
    }
  return out;
}

// by_link and by_gpus of every way of holding back, a row each.
Json parts_of(const Json& held_back_by, const char* field, const char* name) {
  Json out = Json::array();
  for (const auto& [way, scores] : held_back_by.items())
    for (const auto& [key, s] : part(scores, field).items())
      out.push_back({{"held_back_by", way},
                     {name, std::string(trim(key))},
                     {"rows", whole_in(s, "rows")},
                     {"mean_error", number_in(s, "mean_error")},
                     {"p95_error", number_in(s, "p95_error")},
                     {"bias", number_in(s, "bias")},
                     {"right_verdicts", number_in(s, "right_verdicts")},
                     {"coverage", number_in(s, "coverage")}});
  return out;
}

double number_at(const Csv& csv, const CsvRow& row, const char* column) {
  const std::string& text = row.cells[csv.required(column, Fault::store)];
  if (const auto number = parse_number<double>(text)) return *number;
  throw Error(Fault::store, csv.place(row),
              std::string(column) + " '" + text + "' is no number",
              "`lockstep predict --validate` writes it anew");
}

// The table as it is, with the error of each prediction and whether its
// interval holds what was measured.
Json compared(const fs::path& file, const char* measured,
              const char* predicted) {
  const Csv csv = parse_csv(read_file(file, Fault::store),
                            file.filename().string(), Fault::store);
  Json out = Json::array();
  for (const CsvRow& row : csv.rows) {
    Json cells = Json::object();
    for (std::size_t i = 0; i < csv.header.size(); ++i) {
      const std::string& text = row.cells[i];
      const auto whole = parse_number<std::int64_t>(text);
      const auto number = parse_number<double>(text);
      cells[csv.header[i]] = whole    ? Json(*whole)
                             : number ? Json(*number)
                                      : Json(text);
    }
    const double m = number_at(csv, row, measured);
    cells["error"] = number_or_null(number_at(csv, row, predicted) / m - 1);
    cells["inside"] =
        number_at(csv, row, "lo90") <= m && m <= number_at(csv, row, "hi90");
    out.push_back(std::move(cells));
  }
  return out;
}

Json validation_answer(const Json& scores) {
  const Json& ours = part(scores, "lockstep");
  const Json& median = part(scores, "class_median");
  const auto in_percent = [](const Json& s, const char* field) {
    return 100 * number_in(s, field);
  };
  return {
      {"sentence",
       fmt::format("With their whole source held back, {} published results "
                   "are predicted {:.1f} % off on average; {:.1f} % of "
                   "verdicts are right.",
                   whole_in(ours, "rows"), in_percent(ours, "mean_error"),
                   in_percent(ours, "right_verdicts"))},
      {"how_sure",
       fmt::format("{:.1f} % of the measured values lie inside the 90 % "
                   "intervals; one row in twenty is off by more than {:.1f} "
                   "%, the bias is {:.1f} %.",
                   in_percent(ours, "coverage"), in_percent(ours, "p95_error"),
                   in_percent(ours, "bias"))},
      {"why",
       fmt::format("The same rows are {:.1f} % off by the median of their "
                   "link class and number of GPUs. Nothing of a source that "
                   "is predicted was seen when the constants were fitted.",
                   in_percent(median, "mean_error"))},
      {"what_would_change",
       "A 1-GPU value and epochs measured on your own system (predict "
       "--calibrate), or a profile and a probe of it: what no column says is "
       "in them."}};
}

}  // namespace

bool is_validation(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "validation.json", ignored);
}

StoredValidation read_validation(const fs::path& folder) {
  const Json stored = read_json(folder / "validation.json", Fault::store);
  const Json& ways = part(stored, "held_back_by");
  StoredValidation out{
      .scores = score_table(ways), .words = {}, .document = {}};
  Json& doc = out.document;
  doc = {{"schema", 1},
         {"verb", "validation"},
         {"title", "Predictions of published curves, compared"},
         {"made_utc", utc_now()},
         {"version", version_text()},
         {"rows_title", "Row by row, its whole source held back"}};
  const Json answer = validation_answer(part(ways, "source"));
  out.words = answer["sentence"].get<std::string>() + "\n";
  doc["answers"] = Json::array({answer});
  doc["notes"] = Json::array(
      {"predicted, then compared: efficiency is the speed on N GPUs over N "
       "times the speed on one; all rows count, faulty ones too"});
  doc["scores"] = to_json(out.scores)["rows"];
  doc["by_link"] = parts_of(ways, "by_link", "link");
  doc["by_gpus"] = parts_of(ways, "by_gpus", "gpus");
  doc["epochs"] = compared(folder / "epochs.csv", "measured_s", "predicted_s");
  doc["rows"] =
      compared(folder / "validation.csv", "measured_efficiency", "predicted");
  doc["points"] = Json::array();
  doc["machines"] = Json::array({"published: each row's own source"});
  doc["commands"] = Json::array({text_in(stored, "command")});
  return out;
}

}  // namespace lockstep
