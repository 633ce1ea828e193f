// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_fit.h"

#include <ceres/ceres.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "lockstep/core/table.h"

namespace lockstep {
namespace {

// Student's t with so many degrees of freedom: a faulty row pulls little.
constexpr double kTails = 4;
// Beyond so many widths a constant pays little more: most workloads are alike,
// a few (no exchange in the timed steps) are not.
constexpr double kPriorTails = 2;
// Starting points that a sum of zeros would leave on a plateau.
constexpr std::pair<std::string_view, double> kStart[] = {
    {"link", -0.9}, {"bytes.half", -0.35}};

struct Entry {
  double* value;
  int part;
  double factor;
};

// ln(time) of one row against its measurement, in units of the noise.
class RowCost final : public ceres::CostFunction {
 public:
  RowCost(const MeasuredRow& row, const std::vector<Entry>& entries,
          double noise)
      : row_(row), noise_(noise) {
    set_num_residuals(1);
    for (const Entry& e : entries) {
      mutable_parameter_block_sizes()->push_back(1);
      parts_.push_back(e.part);
      factors_.push_back(e.factor);
    }
  }

  bool Evaluate(double const* const* values, double* residuals,
                double** jacobians) const override {
    double sums[kTableParts] = {};
    for (std::size_t i = 0; i < parts_.size(); ++i)
      sums[parts_[i]] += values[i][0] * factors_[i];
    const TableStep step = table_step(row_.facts, sums);
    residuals[0] = (step.log_time + std::log(row_.efficiency)) / noise_;
    for (std::size_t i = 0; jacobians && i < parts_.size(); ++i)
      if (jacobians[i])
        jacobians[i][0] = step.slope[parts_[i]] * factors_[i] / noise_;
    return std::isfinite(residuals[0]);
  }

 private:
  const MeasuredRow& row_;
  double noise_;
  std::vector<int> parts_;
  std::vector<double> factors_;
};

class PriorCost final : public ceres::SizedCostFunction<1, 1> {
 public:
  explicit PriorCost(double width) : width_(width) {}
  bool Evaluate(double const* const* values, double* residuals,
                double** jacobians) const override {
    residuals[0] = values[0][0] / width_;
    if (jacobians && jacobians[0]) jacobians[0][0] = 1 / width_;
    return true;
  }

 private:
  double width_;
};

// Every level that occurs gets a constant, zero unless given.
TableConstants make_constants(std::span<const MeasuredRow> rows,
                              const TableConstants* from) {
  TableConstants out;
  const auto terms = table_terms();
  out.values.resize(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (const MeasuredRow& row : rows) {
      const std::string level = terms[t].level(row.facts);
      if (level.empty() || out.values[t].contains(level)) continue;
      double value = 0;
      if (from) {
        const auto found = from->values[t].find(level);
        if (found != from->values[t].end()) value = found->second;
      } else {
        for (const auto& [name, start] : kStart)
          if (name == terms[t].name) value = start;
      }
      out.values[t][level] = value;
    }
  }
  return out;
}

std::vector<Entry> entries_of(const TableFacts& facts, TableConstants& all) {
  std::vector<Entry> out;
  const auto terms = table_terms();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::string level = terms[t].level(facts);
    if (level.empty()) continue;
    const double factor = terms[t].factor(facts);
    if (factor == 0) continue;
    out.push_back({&all.values[t].find(level)->second,
                   static_cast<int>(terms[t].part), factor});
  }
  return out;
}

// A constant that stayed within so small a part of its width says nothing that
// the rows do not say without it. Wider ones are few and all tell.
constexpr double kTelling = 0.1, kWide = 0.5;
// Whose levels tell a name that was seen from a new one: all stay.
constexpr std::string_view kNames[] = {"bytes.model", "link.host",
                                       "bytes.software"};

void drop_silent(TableConstants& constants) {
  const auto terms = table_terms();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const double width = terms[t].width;
    if (width > kWide || std::ranges::count(kNames, terms[t].name) > 0)
      continue;
    std::erase_if(constants.values[t], [&](const auto& level) {
      return std::abs(level.second) < kTelling * width;
    });
  }
}

ceres::Solver::Options solver_options(int max_iterations) {
  ceres::Solver::Options options;
  // Hundreds of constants, few in a row: conjugate gradients need no BLAS.
  options.linear_solver_type = ceres::CGNR;
  options.preconditioner_type = ceres::JACOBI;
  options.max_num_iterations = max_iterations;
  options.max_linear_solver_iterations = 400;
  options.eta = 1e-2;
  options.function_tolerance = 1e-5;
  options.num_threads = 1;
  options.logging_type = ceres::SILENT;
  return options;
}

}  // namespace

std::vector<MeasuredRow> measured_rows(const Csv& csv) {
  const TableReader reader(csv);
  std::vector<MeasuredRow> rows;
  for (const CsvRow& cells : csv.rows) {
    const TableRow row = reader.read(cells);
    if (row.efficiency && row.gpus > 1)
      rows.push_back({facts_of(row), *row.efficiency});
  }
  return rows;
}

TableConstants fit_table(std::span<const MeasuredRow> rows,
                         const TableFitOptions& options) {
  TableConstants out = make_constants(rows, options.from);
  out.noise = options.noise;
  ceres::Problem problem;
  for (const MeasuredRow& row : rows) {
    const std::vector<Entry> entries = entries_of(row.facts, out);
    std::vector<double*> values;
    for (const Entry& e : entries) values.push_back(e.value);
    problem.AddResidualBlock(
        new RowCost(row, entries, options.noise),
        new ceres::ScaledLoss(new ceres::CauchyLoss(std::sqrt(kTails)),
                              (kTails + 1) / kTails, ceres::TAKE_OWNERSHIP),
        values);
  }
  const auto terms = table_terms();
  for (std::size_t t = 0; t < terms.size(); ++t)
    for (auto& [level, value] : out.values[t])
      problem.AddResidualBlock(new PriorCost(terms[t].width),
                               new ceres::CauchyLoss(kPriorTails), &value);
  ceres::Solver::Summary summary;
  ceres::Solve(solver_options(options.max_iterations), &problem, &summary);
  check(summary.IsSolutionUsable(), "the table's constants can be fitted");
  drop_silent(out);
  return out;
}

std::string constants_csv(const TableConstants& constants,
                          std::span<const MeasuredRow> rows) {
  std::string out = "term,level,value,unit,rows\n";
  out += fmt::format("noise,*,{:.4f},ln,{}\n", constants.noise, rows.size());
  out += fmt::format("spread,*,{:.4f},1,{}\n", constants.spread, rows.size());
  const auto terms = table_terms();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    std::map<std::string, int> counts;
    for (const MeasuredRow& row : rows) ++counts[terms[t].level(row.facts)];
    for (const auto& [level, value] : constants.values[t])
      out += fmt::format("{},{},{:.5g},{},{}\n", terms[t].name,
                         csv_field(level), value, terms[t].unit, counts[level]);
  }
  return out;
}

}  // namespace lockstep
