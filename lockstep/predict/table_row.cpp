// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

constexpr double kMostValue = 1e18;

// Numbers in a text such as "64 and 32" or "512 , 1024", in their order.
std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto begin = text.find_first_of("0123456789", at);
    if (begin == std::string_view::npos) break;
    const auto end =
        std::min(text.find_first_not_of("0123456789.", begin), text.size());
    if (const auto n = parse_number<double>(text.substr(begin, end - begin)))
      found.push_back(*n);
    at = end;
  }
  return found;
}

bool sensible(double value) {
  return std::isfinite(value) && value > 0 && value < kMostValue;
}

std::optional<int> count(std::optional<double> number) {
  if (!number || *number < 1 || *number > kMostGpus) return std::nullopt;
  if (*number != std::floor(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

bool lower_is_better(std::string_view metric) {
  return metric.starts_with("ms") || metric.starts_with("s/") ||
         metric.starts_with("seconds") || metric.starts_with("minutes");
}

TableReader::TableReader(const Csv& csv) : csv_(csv) {
  for (const char* column : {"gpus", "metric", "value_at_1_gpu"})
    csv.required(column, Fault::config);
}

const std::string& TableReader::cell(const CsvRow& row,
                                     std::string_view column) const {
  static const std::string empty;
  const auto at = csv_.column(column);
  return at ? row.cells[*at] : empty;
}

std::optional<double> TableReader::number(const CsvRow& row,
                                          std::string_view column,
                                          TableRow& out) const {
  const std::string_view text = trim(cell(row, column));
  if (text.empty()) return std::nullopt;
  const auto value = parse_number<double>(text);
  if (value && sensible(*value)) return value;
  out.doubts.push_back(fmt::format("{} not understood", column));
  return std::nullopt;
}

void TableReader::read_texts(const CsvRow& row, TableRow& out) const {
  const auto text = [&](std::string_view column) {
    return std::string(trim(cell(row, column)));
  };
  out.source = text("source");
  out.model = text("model");
  out.input = text("dataset_or_input");
  out.framework = text("framework");
  out.precision = text("precision");
  out.gpu = text("gpu");
  out.interconnect = text("interconnect");
  out.metric = text("metric");
  out.scaling = text("scaling");
  out.comm = text("comm");
  out.link_class = text("ic_class");
  out.notes = text("notes");
  out.group = text("group");
}

void TableReader::read_batch(const CsvRow& row, TableRow& out) const {
  out.batch_per_gpu = number(row, "batch_per_gpu", out);
  out.batch_at_1 = number(row, "batch_at_1_gpu", out);
  if (!out.batch_per_gpu) out.doubts.push_back("batch unknown");
  // Two numbers are two phases of one training, of short and long sequences.
  const auto phases = numbers_in(cell(row, "grad_accum"));
  if (phases.empty()) return;
  const bool long_phase = out.input.find("512") != std::string::npos;
  const double steps = long_phase ? phases.back() : phases.front();
  if (sensible(steps)) out.accumulation = steps;
}

TableRow TableReader::read(const CsvRow& row) const {
  TableRow out;
  read_texts(row, out);
  const auto gpus = count(number(row, "gpus", out));
  if (!gpus) out.doubts.push_back("gpus unknown");
  out.gpus = gpus.value_or(1);
  const auto nodes = count(number(row, "nodes", out));
  if (!nodes) out.doubts.push_back("nodes unknown");
  out.nodes = std::min(nodes.value_or(1), out.gpus);
  const auto value = number(row, "value_at_1_gpu", out);
  if (!value) out.doubts.push_back("1-GPU value unknown");
  out.value_at_1 = value.value_or(0);
  if (const auto millions = number(row, "params_millions", out))
    out.params = *millions * 1e6;
  read_batch(row, out);
  TableRow ignored;  // what is to be predicted leaves no doubt
  out.value = number(row, "value", ignored);
  out.efficiency = number(row, "efficiency", ignored);
  for (const auto& [text, name] : {std::pair{&out.model, "model"},
                                   {&out.gpu, "gpu"},
                                   {&out.framework, "framework"},
                                   {&out.precision, "precision"}})
    if (text->empty()) out.doubts.push_back(fmt::format("{} unknown", name));
  if (out.link_class.empty() || out.link_class == "unspecified" ||
      out.link_class == "pcie-unspecified")
    out.doubts.push_back("link not specified");
  return out;
}

}  // namespace lockstep
