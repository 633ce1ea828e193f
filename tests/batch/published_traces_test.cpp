// SPDX-License-Identifier: Apache-2.0
// The demonstration of section 1.3 and the tables of sections 2.1 and 5.1:
// Pollux's ResNet-18 / CIFAR-10 traces on T4 GPUs.
#include "lockstep/batch/published_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lockstep/batch/compare.h"
#include "lockstep/core/error.h"
#include "tests/batch/fixture.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const std::vector<std::int64_t> kRanks = {1, 2, 4, 8, 16};

BatchRuns traces() {
  BatchRuns runs =
      read_published_traces(data_folder() + "pollux_cifar10", kRanks, 10);
  runs.eval_examples = 10000;
  return runs;
}

std::vector<BatchComparison> at(double accuracy) {
  return compare_batch_sizes(traces(), {.target_accuracy = accuracy,
                                        .crossing = Crossing::evaluation});
}

struct GoldenRanks {
  std::vector<double> minutes;  // from the largest batch, 4096, down
  double best, rate;            // nats a minute
};

TEST(PublishedTraces, MinutesTo94PerCentAndTheBestBatch) {
  const std::vector<GoldenRanks> golden = {
      {{84.7, 62.1, 50.1, 43.0, 46.2, 45.0}, 512, 0.0452},
      {{50.6, 37.1, 29.4, 25.3, 28.4, 28.6}, 512, 0.0768},
      {{23.8, 17.5, 14.5, 13.3, 17.0, 25.4}, 512, 0.146},
      {{13.6, 11.5, 16.5, 20.7, 45.8}, 2048, 0.169},
      {{6.7, 6.8, 13.8, 18.4}, 4096, 0.290}};
  const auto found = at(0.94);
  ASSERT_EQ(found.size(), golden.size());
  for (std::size_t k = 0; k < golden.size(); ++k) {
    const auto& rows = found[k].rows;
    ASSERT_EQ(rows.size(), golden[k].minutes.size());
    EXPECT_NEAR(found[k].target_nats, 1.944, 5e-4);
    double best_rate = 0, best = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const BatchRow& row = rows[rows.size() - 1 - i];
      EXPECT_NEAR(*row.information.time_s / 60, golden[k].minutes[i], 0.051)
          << kRanks[k] << " devices, batch " << row.batch;
      EXPECT_DOUBLE_EQ(*row.plain_time_s, *row.information.time_s);
      if (row.information.rate > best_rate)
        best_rate = row.information.rate, best = row.batch;
    }
    EXPECT_EQ(best, golden[k].best) << kRanks[k];
    // The published rates were taken from rounded minutes.
    EXPECT_NEAR(best_rate * 60 / golden[k].rate, 1, 8e-3) << kRanks[k];
  }
}

// A loose target favours small batches on few devices.
TEST(PublishedTraces, BestBatchTo90PerCent) {
  const std::vector<double> golden = {128, 128, 256, 2048, 2048};
  const auto found = at(0.90);
  for (std::size_t k = 0; k < golden.size(); ++k) {
    const auto best = std::ranges::max_element(
        found[k].rows, {},
        [](const BatchRow& row) { return row.information.rate; });
    EXPECT_EQ(best->batch, golden[k]) << kRanks[k];
  }
}

TEST(PublishedTraces, SixteenDevicesAreATieThatGoesToTheHigherEnd) {
  const BatchComparison c = at(0.94).back();
  EXPECT_EQ(c.picks.front().criterion, "information");
  EXPECT_EQ(c.picks.front().batch, 2048);
  EXPECT_THAT(c.picks.front().reason, testing::HasSubstr("4096 is first"));
  EXPECT_EQ(c.picks.front().high, 4096);
}

// phi = 3300 gives 322/438/746/2574/3456; the sweep's own bend is 3318.
TEST(PublishedTraces, GoodputFormulaOnEveryNumberOfDevices) {
  const std::vector<double> golden = {322, 438, 746, 2574, 3456},
                            channel = {465, 638, 1110, 4261, 5983};
  const auto found = at(0.94);
  for (std::size_t k = 0; k < golden.size(); ++k) {
    EXPECT_NEAR(found[k].critical->batch, 3317.6, 0.1);
    EXPECT_EQ(found[k].picks[1].criterion, "goodput");
    EXPECT_NEAR(*found[k].picks[1].exact / golden[k], 1, 5e-3);
    EXPECT_EQ(found[k].picks[2].criterion, "gradient channel");
    EXPECT_NEAR(*found[k].picks[2].exact / channel[k], 1, 5e-3);
  }
}

// phi = 128 var / sqr after epochs 2, 6, 11, 21, 41, 61, 100.
TEST(PublishedTraces, NoiseScaleAlongTraining) {
  const std::vector<std::size_t> epochs = {2, 6, 11, 21, 41, 61, 100};
  const std::vector<std::vector<double>> golden = {
      {108, 325, 992, 2214, 3834, 6717, 38658},
      {129, 601, 1527, 2936, 5834, 11987, 36682},
      {329, 1058, 2091, 3917, 8072, 20118, 58433},
      {381, 1327, 2425, 4357, 8782, 26259, 69586},
      {442, 1398, 2860, 5242, 12032, 35238, 133040},
      {384, 1372, 2993, 5821, 11591, 31180, 162405}};
  const BatchRuns runs = traces();
  for (std::size_t b = 0; b < golden.size(); ++b)
    for (std::size_t e = 0; e < epochs.size(); ++e)
      EXPECT_NEAR(runs.runs[b].noise_scale[epochs[e] - 1], golden[b][e], 0.51);
}

// Section 5.1: steps and best accuracy of each batch size.
TEST(PublishedTraces, StepsAndAccuracyOfEachBatch) {
  const std::vector<double> steps = {39062, 20377, 10615, 5722, 3178, 2011},
                            best = {94.63, 94.39, 94.66, 94.44, 94.24, 94.18};
  const BatchRuns runs = traces();
  const auto rows = at(0.94).front().rows;
  for (std::size_t b = 0; b < steps.size(); ++b) {
    EXPECT_EQ(runs.runs[b].curve.back().steps, steps[b]);
    EXPECT_NEAR(100 * rows[b].best_accuracy, best[b], 1e-9);
  }
}

TEST(PublishedTraces, WithoutATargetPlainTimeRunsToWhatAllReach) {
  const auto found = compare_batch_sizes(traces(), {});
  EXPECT_DOUBLE_EQ(*found.front().target_accuracy, 0.94);
  EXPECT_NEAR(found.front().target_nats, 0.98 * 1.9768, 1e-4);
  const std::vector<double> by_target = {128, 128, 128, 512};
  ASSERT_EQ(found.front().curve.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(found.front().curve[i].batch, by_target[i]);
}

TEST(PublishedTraces, OneTrainingUnderSeveralClocksHasNoSensitivity) {
  EXPECT_TRUE(sensitivity_of(traces(), {}).empty());
}

TEST(PublishedTraces, BatchesNobodyTimedAreNamed) {
  EXPECT_THAT(traces().notes, testing::Contains(testing::HasSubstr(
                                  "16 devices: batch 128, 256 left out")));
}

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("traces_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    write("placements.csv",
          "placement,local_bsz,step_time,sync_time\n"
          "1,32,0.1,0\n1,64,0.2,0\n");
    write("validation-32.csv", head() + "10,10,0.5,1,1\n20,20,0.6,1,1\n");
    write("validation-64.csv", head() + "10,5,0.5,1,1\n20,10,0.6,1,1\n");
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const char* name, const std::string& text) {
    std::ofstream(path_ / name) << text;
  }
  static std::string head() {
    return "progress,iteration,metric,grad_sqr,grad_var\n";
  }
  std::string complaint(std::int64_t ranks = 1) const {
    try {
      read_published_traces(path_, std::vector{ranks}, 10);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

 private:
  fs::path path_;
};

TEST(PublishedTraces, BadFilesAreNamedWithTheLine) {
  Folder folder;
  EXPECT_EQ(folder.complaint(), "");
  EXPECT_THAT(folder.complaint(3), testing::HasSubstr("on 3 devices"));
  folder.write("validation-64.csv", Folder::head() + "10,5,94.5,1,1\n");
  EXPECT_THAT(folder.complaint(), testing::HasSubstr("validation-64.csv:2"));
  folder.write("validation-64.csv", Folder::head() + "10,5,nan,1,1\n");
  EXPECT_THAT(folder.complaint(), testing::HasSubstr("not a number"));
  folder.write("validation-64.csv", "iteration\n10\n");
  EXPECT_THAT(folder.complaint(), testing::HasSubstr("metric"));
  folder.write("placements.csv", "placement,local_bsz,step_time\nx,32,0.1\n");
  EXPECT_THAT(folder.complaint(), testing::HasSubstr("placements.csv:2"));
}

}  // namespace
}  // namespace lockstep
