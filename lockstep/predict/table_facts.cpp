// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_facts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/core/text.h"
#include "lockstep/predict/table_names.h"

namespace lockstep {

namespace embedded {  // made from table_workloads.csv by the build
extern const std::string_view table_workloads;
}

namespace {

// Where the batch is unknown: the median step of the published rows.
constexpr double kUsualStep_s = 0.4;
constexpr double kUsualParams = 30e6;
// Where a token rate says nothing of the length of a sequence.
constexpr double kUsualTokens = 50;
constexpr double kTokenBatch = 1000;  // a larger "batch" counts tokens itself

struct Known {
  std::optional<double> params, samples_per_item, largest_tensor;
};

std::map<std::string, Known, std::less<>> read_workloads() {
  const Csv csv = parse_csv(embedded::table_workloads, "table_workloads.csv",
                            Fault::internal);
  const auto model = csv.required("model", Fault::internal);
  const auto params = csv.required("params_millions", Fault::internal);
  const auto samples = csv.required("samples_per_item", Fault::internal);
  const auto largest = csv.required("largest_tensor_millions", Fault::internal);
  std::map<std::string, Known, std::less<>> out;
  for (const CsvRow& row : csv.rows) {
    Known known;
    if (const auto n = parse_number<double>(row.cells[params]))
      known.params = *n * 1e6;
    known.samples_per_item = parse_number<double>(row.cells[samples]);
    if (const auto n = parse_number<double>(row.cells[largest]))
      known.largest_tensor = *n * 1e6;
    out[row.cells[model]] = known;
  }
  return out;
}

Known known(const std::string& model) {
  static const auto all = read_workloads();
  const auto found = all.find(model);
  return found == all.end() ? Known{} : found->second;
}

// "tgt_len 256" -> 256, "SQuAD seq 384" -> 384.
std::optional<double> length_in(const std::string& input) {
  for (const std::string_view word : {"tgt_len ", "seq ", "len "}) {
    const auto at = input.find(word);
    if (at == std::string::npos) continue;
    const std::string_view rest =
        std::string_view(input).substr(at + word.size());
    return parse_number<double>(
        rest.substr(0, rest.find_first_not_of("0123456789")));
  }
  return std::nullopt;
}

// The unit a rate is given in, as samples a second.
double rate_scale(const std::string& metric) {
  if (metric.ends_with("/ms")) return 1e3;
  if (metric.starts_with("Msamples")) return 1e6;
  return 1;
}

// Seconds for one batch at 1 GPU; nothing where the row does not say.
std::optional<double> batch_s(const TableRow& row,
                              std::optional<double> batch) {
  if (row.value_at_1 <= 0) return std::nullopt;
  if (row.metric.starts_with("ms")) return row.value_at_1 * 1e-3;
  if (row.metric.starts_with("s/")) return row.value_at_1;
  if (lower_is_better(row.metric) || !batch) return std::nullopt;
  return *batch * samples_per_item(row) /
         (row.value_at_1 * rate_scale(row.metric));
}

void set_step(const TableRow& row, TableFacts& f) {
  const bool strong = row.scaling == "strong";
  std::optional<double> one = row.batch_at_1;
  if (!one && row.batch_per_gpu)
    one = *row.batch_per_gpu * (strong ? row.gpus : 1);
  if (one && row.batch_per_gpu)
    f.batch_ratio = std::clamp(*row.batch_per_gpu / *one, 1e-3, 1e3);
  const auto at_1 = batch_s(row, one);
  if (!at_1) ++f.doubts;
  f.step_s = at_1.value_or(kUsualStep_s) * f.batch_ratio *
             row.accumulation.value_or(1);
  f.step_s = std::clamp(f.step_s, 1e-4, 1e4);
}

// A ring sends every byte 2 (n-1)/n times. Parameter servers, one a node, hold
// whole tensors: the one with the largest sends it to every worker and gets as
// many gradients back. Replicas of a node that reduce first are one worker.
double moved_bytes(const TableFacts& f, double largest_bytes) {
  const double n = f.gpus, nodes = f.nodes;
  if (!f.servers || f.nodes == 1) return f.gradient_bytes * 2 * (n - 1) / n;
  const double workers = f.reduces_in_node ? nodes : n;
  return 2 * workers * std::max(largest_bytes, f.gradient_bytes / nodes);
}

}  // namespace

double samples_per_item(const TableRow& row) {
  const bool tokens = row.metric.starts_with("tokens");
  if (tokens)
    if (const auto length = length_in(row.input)) return *length;
  const bool counted =
      tokens || row.metric.starts_with("mel") || row.model == "WaveGlow";
  if (!counted) return 1;
  if (const auto samples = known(row.model).samples_per_item) return *samples;
  return row.batch_per_gpu.value_or(0) > kTokenBatch ? 1 : kUsualTokens;
}

TableFacts facts_of(const TableRow& row) {
  TableFacts f;
  f.gpus = row.gpus;
  f.nodes = row.nodes;
  f.doubts = static_cast<int>(row.doubts.size());
  name_facts(row, f);
  set_step(row, f);
  // WaveGlow's published count is of another width: the file wins there.
  const Known workload = known(row.model);
  std::optional<double> params = row.params;
  if (!params || row.model == "WaveGlow")
    params = workload.params ? workload.params : row.params;
  if (!params) ++f.doubts;
  f.gradient_bytes = 4 * std::clamp(params.value_or(kUsualParams), 1e3, 1e13);
  f.moved_bytes = moved_bytes(f, 4 * workload.largest_tensor.value_or(0));
  return f;
}

}  // namespace lockstep
