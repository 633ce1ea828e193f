// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_fit.h"

#include <gmock/gmock.h>

#include <cmath>

#include "lockstep/predict/table_repeats.h"
#include "lockstep/predict/timeline.h"

namespace lockstep {
namespace {

// A world of pure physics: gradients over links of known bandwidth, nothing
// overlapped, for four models on four hosts with 2, 4 and 8 GPUs.
double true_efficiency(double params, double step_s, int gpus, double rate) {
  return 1 / (1 + 2.0 * (gpus - 1) / gpus * 4 * params / rate / step_s);
}

TableRow row_of(int model, int host, int gpus) {
  const double params[] = {10e6, 30e6, 100e6, 300e6};
  const double step_s[] = {0.2, 0.4, 0.3, 0.8};
  const double rate[] = {3e9, 10e9, 12e9, 100e9};
  TableRow row;
  row.source = "source " + std::to_string(host);
  row.model = "model " + std::to_string(model);
  row.framework = "PyTorch";
  row.precision = "FP32";
  row.gpu = "gpu " + std::to_string(host);
  row.interconnect = "PCIe3 EPYC " + std::to_string(7000 + host);
  row.link_class = host < 2 ? "pcie-no-p2p" : "pcie-p2p";
  row.metric = "images/s";
  row.gpus = gpus;
  row.params = params[model];
  row.batch_per_gpu = row.batch_at_1 = 100;
  row.value_at_1 = 100 / step_s[model];
  row.efficiency =
      true_efficiency(params[model], step_s[model], gpus, rate[host]);
  return row;
}

std::vector<TableRow> world() {
  std::vector<TableRow> rows;
  for (int model = 0; model < 4; ++model)
    for (int host = 0; host < 4; ++host)
      for (const int gpus : {2, 4, 8})
        rows.push_back(row_of(model, host, gpus));
  return rows;
}

std::vector<MeasuredRow> measured_of(std::span<const TableRow> rows) {
  std::vector<MeasuredRow> out;
  for (const TableRow& row : rows)
    out.push_back({facts_of(row), *row.efficiency});
  return out;
}

double mean_error(std::span<const TableRow> rows, const TableConstants& with) {
  double sum = 0;
  for (const TableRow& row : rows)
    sum += std::abs(forecast(facts_of(row), with).efficiency / *row.efficiency -
                    1);
  return sum / static_cast<double>(rows.size());
}

TEST(TableFit, LearnsLinksFromTheirRows) {
  const std::vector<TableRow> rows = world();
  EXPECT_LT(mean_error(rows, fit_table(measured_of(rows))), 0.03);
}

TEST(TableFit, AModelOnAnUnseenHostFollowsFromOtherModelsThere) {
  std::vector<TableRow> kept, held;
  for (const TableRow& row : world())
    (row.model == "model 2" && row.gpu == "gpu 0" ? held : kept).push_back(row);
  EXPECT_LT(mean_error(held, fit_table(measured_of(kept))), 0.15);
}

TEST(TableFit, AFaultyRowPullsLittle) {
  std::vector<TableRow> rows = world();
  std::vector<TableRow> faulty = rows;
  faulty[5].efficiency = 0.02;
  EXPECT_LT(mean_error(rows, fit_table(measured_of(faulty))), 0.06);
}

// Nothing to send, steps that differ by 3 %: what is lost is the wait for the
// slowest, which 256 GPUs feel only twice as much as 8.
TEST(TableFit, StragglersGrowAsTheSlowestOfNDoes) {
  std::vector<TableRow> rows;
  for (const TableRow& known : world()) {
    TableRow row = known;
    row.params = 1e3;
    row.efficiency = 1 / (1 + 0.03 * expected_max_normal(row.gpus));
    rows.push_back(row);
  }
  const TableConstants constants = fit_table(measured_of(rows));
  TableRow large = rows.front();
  large.gpus = 256;
  EXPECT_NEAR(forecast(facts_of(large), constants).efficiency,
              1 / (1 + 0.03 * expected_max_normal(256)), 0.015);
}

TEST(TableFit, TheDataFileSaysWhatWasFitted) {
  const auto rows = measured_of(world());
  const TableConstants constants = fit_table(rows);
  const Csv csv =
      parse_csv(constants_csv(constants, rows), "c.csv", Fault::internal);
  EXPECT_EQ(csv.header, (std::vector<std::string>{"term", "level", "value",
                                                  "unit", "rows"}));
  EXPECT_EQ(csv.rows[0].cells[0], "noise");
  EXPECT_EQ(csv.rows[2].cells[0], "link");
  EXPECT_EQ(csv.rows[2].cells[4], "48");
}

TEST(TableValidate, WhatIsHeldBackIsNotSeen) {
  std::vector<TableRow> rows = world();
  const auto before = hold_back(rows, Together::source, 0);
  for (TableRow& row : rows)
    if (row.source == "source 1") row.efficiency = 0.123;
  const auto after = hold_back(rows, Together::source, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(before[i].row.model, rows[i].model);
    if (rows[i].source == "source 1") {
      EXPECT_DOUBLE_EQ(before[i].predicted, after[i].predicted);
    }
  }
}

TEST(TableValidate, TheSpreadIsTheOneThatCoversNineRowsOfTen) {
  std::vector<HeldBack> rows(100);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].scale = 0.1;
    rows[i].predicted = std::exp(0.001 * static_cast<double>(i));
  }
  const double factor = calibrated_spread(rows);
  for (HeldBack& r : rows) r.spread = factor * r.scale + 1e-12;
  EXPECT_NEAR(score(rows).coverage, 0.9, 0.011);
}

HeldBack held(const std::string& source, double measured, double batch) {
  HeldBack out;
  out.row = row_of(0, 0, 4);
  out.row.source = source;
  out.row.batch_per_gpu = batch;
  out.measured = measured;
  return out;
}

TEST(TableRepeats, AnotherSourceStandsInForAPrediction) {
  const std::vector<HeldBack> rows = {held("a", 0.5, 100), held("b", 0.8, 100),
                                      held("c", 0.2, 64), held("a", 0.6, 100)};
  const auto alike = repeated(rows, Repeats::configuration);
  ASSERT_EQ(alike.size(), 4u);
  EXPECT_NEAR(alike[0].elsewhere, std::sqrt(0.8 * 0.2), 1e-12);
  EXPECT_NEAR(alike[1].elsewhere, 0.5, 1e-12);  // of 0.2, 0.5, 0.6
  const auto same = repeated(rows, Repeats::machine);
  ASSERT_EQ(same.size(), 3u);                  // nobody else has batch 64
  EXPECT_NEAR(same[0].elsewhere, 0.8, 1e-12);  // not its own source's 0.6
  EXPECT_NEAR(same[1].elsewhere, std::sqrt(0.5 * 0.6), 1e-12);
}

TEST(TableValidate, ScoresAreOfTheValue) {
  std::vector<HeldBack> rows(2);
  rows[0].measured = 0.5, rows[0].predicted = 0.55, rows[0].row.gpus = 8;
  rows[1].measured = 0.9, rows[1].predicted = 0.72, rows[1].row.gpus = 8;
  const TableScore s = score(rows);
  EXPECT_NEAR(s.mean_error, 0.15, 1e-12);
  EXPECT_NEAR(s.bias, -0.05, 1e-12);
  EXPECT_NEAR(s.p95_error, 0.2, 1e-12);
  EXPECT_NEAR(s.right_verdicts, 0.5, 1e-12);
}

}  // namespace
}  // namespace lockstep
