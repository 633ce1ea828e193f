// SPDX-License-Identifier: Apache-2.0
// One row of a table of published measurements: a training run on N GPUs with
// the value of its 1-GPU twin. Cells that are empty, unknown or senseless stay
// unset and leave a word in `doubts`; nothing here knows a model of scaling.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/csv.h"

namespace lockstep {

// A table with more is wrong there.
constexpr double kMostGpus = 1e6;

struct TableRow {
  std::string source, model, input, framework, precision, gpu, interconnect;
  std::string metric, scaling, comm, link_class, notes;
  int gpus = 1, nodes = 1;
  double value_at_1 = 0;
  std::optional<double> params;                     // of the model
  std::optional<double> batch_per_gpu, batch_at_1;  // in the metric's samples
  std::optional<double> accumulation;               // micro-batches a step
  std::vector<std::string> doubts;                  // words for `note`

  // What only a measured table has.
  std::optional<double> value, efficiency;
  std::string group;
};

// "ms", "s/", "seconds" and "minutes" begin the metrics of which less is
// better; everything else is a rate.
bool lower_is_better(std::string_view metric);

// The columns of a table, found once.
class TableReader {
 public:
  // Error{Fault::config} with file and line when gpus, metric or
  // value_at_1_gpu is missing.
  explicit TableReader(const Csv& csv);

  TableRow read(const CsvRow& row) const;

 private:
  const std::string& cell(const CsvRow& row, std::string_view column) const;
  std::optional<double> number(const CsvRow& row, std::string_view column,
                               TableRow& out) const;
  void read_texts(const CsvRow& row, TableRow& out) const;
  void read_batch(const CsvRow& row, TableRow& out) const;

  const Csv& csv_;
};

}  // namespace lockstep
