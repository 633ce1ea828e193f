// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "lockstep/core/table.h"

namespace lockstep {
namespace {

bool is_input_column(const std::string& column) {
  return column != "value" && column != "speedup" && column != "efficiency";
}

std::string note_of(const TableRow& row, const TableForecast& known) {
  std::vector<std::string> words = row.doubts;
  if (!known.known_model && !row.model.empty())
    words.push_back("model not seen before");
  if (!known.known_host && !row.gpu.empty())
    words.push_back("system not seen before");
  if (!known.known_software && !row.framework.empty())
    words.push_back("software not seen before");
  return fmt::format("{}", fmt::join(words, "; "));
}

// A rate grows with the speed-up. The time of fixed work, such as an epoch,
// shrinks with it; the time of a step with its batch does too, but the batch
// of a GPU stays when the GPUs grow in number.
double value_of(const TableRow& row, const TableFacts& f, double efficiency) {
  if (!lower_is_better(row.metric))
    return row.value_at_1 * efficiency * row.gpus;
  const bool fixed_work = row.metric.starts_with("seconds") ||
                          row.metric.starts_with("minutes") ||
                          row.metric.find("epoch") != std::string::npos;
  const double work = fixed_work ? 1.0 / row.gpus : f.batch_ratio;
  return row.value_at_1 * work / efficiency;
}

void append_number(std::string& out, std::optional<double> value) {
  out += ',';
  if (value) out += fmt::format("{:.6g}", *value);
}

void append(std::string& out, const RowPrediction& p) {
  append_number(out, p.value);
  append_number(out, p.low);
  append_number(out, p.high);
  append_number(out, p.speedup);
  out += fmt::format(",{},{},{}\n", word(p.verdict), word(p.cause),
                     csv_field(p.note));
}

}  // namespace

RowPrediction predict_row(const TableRow& row, const TableConstants& with) {
  const TableFacts facts = facts_of(row);
  const TableForecast f = forecast(facts, with);
  const double spread = log_spread(facts, f, with);
  RowPrediction out;
  out.speedup = f.efficiency * row.gpus;
  out.verdict = verdict_of(*out.speedup, row.gpus);
  out.cause = f.cause;
  out.note = note_of(row, f);
  if (row.value_at_1 <= 0) return out;
  const double value = value_of(row, facts, f.efficiency);
  out.value = value;
  out.low = value * std::exp(-spread);
  out.high = value * std::exp(spread);
  return out;
}

std::string predict_table(const Csv& in, const TableConstants& with) {
  const TableReader reader(in);
  std::string out;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < in.header.size(); ++i)
    if (is_input_column(in.header[i])) kept.push_back(i);
  for (const std::size_t i : kept) out += csv_field(in.header[i]) + ",";
  out += "predicted_value,lo90,hi90,predicted_speedup,verdict,cause,note\n";
  for (const CsvRow& row : in.rows) {
    for (const std::size_t i : kept) {
      if (i != kept.front()) out += ',';
      out += csv_field(row.cells[i]);
    }
    append(out, predict_row(reader.read(row), with));
  }
  return out;
}

}  // namespace lockstep
