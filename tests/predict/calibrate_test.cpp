// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/calibrate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "lockstep/core/file.h"
#include "lockstep/predict/calibrate_table.h"
#include "lockstep/predict/calibrate_validate.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

Csv stevens() {
  const std::string path =
      LOCKSTEP_SOURCE_DIR "/tests/predict/data/stevens_epoch_seconds.csv";
  return parse_csv(read_file(path, Fault::data), path, Fault::data);
}

struct Held {
  double mean_error = 0, covered = 0;
};

// Fits without the rows that `left_out` names and predicts them.
Held hold_back_where(const std::function<bool(const EpochRun&)>& left_out) {
  std::vector<EpochRun> kept, held;
  for (const EpochRun& run : measured_epochs(stevens()))
    (left_out(run) ? held : kept).push_back(run);
  const SystemFit system = calibrate(kept, 2000);
  Held out;
  for (const EpochRun& run : held) {
    const EpochForecast f = forecast(system, run);
    out.mean_error += std::abs(f.epoch_s / run.epoch_s - 1);
    out.covered += f.low_s <= run.epoch_s && run.epoch_s <= f.high_s ? 1 : 0;
  }
  const auto n = static_cast<double>(held.size());
  return {.mean_error = out.mean_error / n, .covered = out.covered / n};
}

TEST(Calibrate, PredictsANumberOfGpusThatWasNotMeasured) {
  const auto without = [](const char* model, int gpus) {
    return hold_back_where(
        [=](const EpochRun& r) { return r.model == model && r.gpus == gpus; });
  };
  EXPECT_LT(without("linear", 4).mean_error, 0.03);
  EXPECT_LT(without("linear", 2).mean_error, 0.04);
  EXPECT_LT(without("conv", 2).mean_error, 0.07);
  EXPECT_GE(without("linear", 4).covered, 0.85);
  EXPECT_GE(without("linear", 2).covered, 0.85);
}

TEST(Calibrate, PredictsABatchThatWasNotMeasured) {
  for (const double batch : {50.0, 100.0, 200.0, 400.0}) {
    const Held held =
        hold_back_where([=](const EpochRun& r) { return r.batch == batch; });
    EXPECT_LT(held.mean_error, 0.04) << batch;
  }
}

TEST(Calibrate, FindsTheChokeOfTheLinearModelAndItsCause) {
  const SystemFit system = calibrate(measured_epochs(stevens()), 2000);
  EpochRun run{.model = "linear", .param_bytes = 4.0 * 12'102'220, .gpus = 3};
  run.batch = 100;
  const EpochForecast f = forecast(system, run);
  EXPECT_EQ(f.verdict, Verdict::chokes);
  EXPECT_EQ(f.cause, Cause::communication);
  run = {.model = "conv", .param_bytes = 4.0 * 376'200, .gpus = 4};
  run.batch = 600;
  EXPECT_EQ(forecast(system, run).verdict, Verdict::scales);
}

// Seed 004, Table 1: ResNet-18 on CIFAR-10, seconds an epoch.
TEST(Calibrate, TheStrongScalingOfResnet18LiesInItsWideInterval) {
  const double table[3][3] = {{271.984, 229.739, 211.854},
                              {153.240, 125.222, 116.669},
                              {79.637, 63.705, 58.438}};
  const int gpus[] = {1, 2, 4};
  const double batch[] = {32, 128, 512};
  std::vector<EpochRun> runs;
  for (int g = 0; g < 3; ++g)
    for (int b = 0; b < 3; ++b)
      runs.push_back({.model = "resnet18",
                      .param_bytes = 4.0 * 11'173'962,
                      .gpus = gpus[g],
                      .batch = batch[b] * gpus[g],
                      .epoch_s = table[g][b]});
  const SystemFit system = calibrate(runs, 50'000);
  for (const EpochRun& r : runs)
    EXPECT_NEAR(forecast(system, r).epoch_s / r.epoch_s, 1, 0.06);
  const auto strong = [&](int n, double measured_s) {
    EpochRun run = runs[0];
    run.gpus = n;
    run.batch = 32;
    const EpochForecast f = forecast(system, run);
    EXPECT_LT(f.low_s, measured_s);
    EXPECT_GT(f.high_s, measured_s);
    EXPECT_NEAR(f.epoch_s / measured_s, 1, 0.17);
  };
  strong(2, 274.355);
  strong(4, 241.768);
}

// Half the samples take between half of the step and all of it; with a fixed
// cost the lower bound is the line through the two smallest shares.
TEST(StepCurve, BelowAllSharesIsInTheMiddleOfWhatIsPossible) {
  const StepCurve proportional{.share = {32, 64}, .step_s = {0.1, 0.2}};
  EXPECT_NEAR(proportional.at(16), std::sqrt(0.05 * 0.1), 1e-12);
  EXPECT_NEAR(proportional.doubt(16),
              std::hypot(0.5 * std::log(2) / 1.645, 0.2 * std::log(2)), 1e-12);
  const StepCurve fixed{.share = {32, 64}, .step_s = {0.1, 0.1}};
  EXPECT_NEAR(fixed.at(1), 0.1, 1e-12);
  EXPECT_NEAR(fixed.doubt(1), 0.2 * std::log(32), 1e-12)
      << "another algorithm may begin there";
  EXPECT_NEAR(proportional.at(31.999), 0.1, 1e-4);
}

TEST(CalibrateValidate, PredictsEveryNumberOfGpusThatWasHeldBack) {
  const auto runs = measured_epochs(stevens());
  const auto held = hold_back_gpus(runs, 2000);
  EXPECT_EQ(std::ssize(held), std::ranges::count_if(runs, [](const auto& r) {
              return r.gpus > 1;
            }));
  double error = 0, covered = 0;
  for (const HeldBackEpoch& h : held) {
    error += std::abs(h.error()) / static_cast<double>(held.size());
    covered += (h.covered() ? 1.0 : 0.0) / static_cast<double>(held.size());
  }
  EXPECT_LT(error, 0.25);
  EXPECT_GT(covered, 0.6);
}

TEST(CalibrateTable, KnowsOtherNamesOfTheModels) {
  const Csv csv = parse_csv(
      "model,gpus,batch,epoch_s\nconv,1,10,2\nlinear,1,10,1\n"
      "mobilenetv2,1,10,9\n",
      "m.csv", Fault::config);
  const auto runs = measured_epochs(csv);
  EXPECT_EQ(runs[0].param_bytes, 4.0 * 376'200);
  EXPECT_EQ(runs[1].param_bytes, 4.0 * 12'102'220);
}

TEST(CalibrateTable, AWrongCellNamesItsLine) {
  const auto message = [](const std::string& row) -> std::string {
    try {
      measured_epochs(parse_csv("model,gpus,batch,epoch_s\n" + row, "m.csv",
                                Fault::config));
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::config);
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message("linear,1,10,nan\n"), HasSubstr("m.csv:2"));
  EXPECT_THAT(message("linear,1.5,10,1\n"), HasSubstr("m.csv:2"));
  EXPECT_THAT(message("linear,1,-10,1\n"), HasSubstr("batch"));
  EXPECT_THAT(message("perceptron,1,10,1\n"), HasSubstr("perceptron"));
}

TEST(CalibrateTable, RepeatsItsRowsWithoutTheMeasurement) {
  const SystemFit system = calibrate(measured_epochs(stevens()), 2000);
  const Csv out =
      parse_csv(predict_epochs(stevens(), system), "o.csv", Fault::config);
  EXPECT_EQ(out.header, (std::vector<std::string>{"model", "gpus", "batch",
                                                  "predicted_value", "lo90",
                                                  "hi90", "verdict", "cause"}));
  EXPECT_EQ(out.rows.size(), stevens().rows.size());
}

}  // namespace
}  // namespace lockstep
