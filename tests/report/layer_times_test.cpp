// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/layer_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "lockstep/plan/profile.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A model of two layers on a device with launch costs: `thin` takes 100 us
// whatever the batch, `wide` 10 us a sample, the update 20 us, the rest of a
// step 5 us a sample.
Profile known_profile() {
  Profile p;
  p.model = "linear", p.device = "made device", p.software = "by hand";
  p.batches = {1, 10, 100, 1000};
  ProfileLayer thin, wide;
  thin.name = "thin", thin.type = "Linear";
  wide.name = "wide", wide.type = "Conv1d";
  for (const std::int64_t batch : p.batches) {
    const double n = static_cast<double>(batch);
    thin.forward_s.push_back(40e-6), thin.backward_s.push_back(60e-6);
    wide.forward_s.push_back(4e-6 * n), wide.backward_s.push_back(6e-6 * n);
    p.step_s.push_back(120e-6 + 15e-6 * n);
  }
  p.layers = {thin, wide};
  p.params = {{"thin.weight", 4, 0}, {"wide.weight", 4, 1}};
  p.gradient_order = {1, 0};
  p.optimizer_s = 20e-6;
  return p;
}

class LayerTimesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "profiles");
    save_profile(folder_ / "profiles/linear.json", known_profile());
  }
  void TearDown() override { fs::remove_all(folder_); }

  // One device as the profile says, with batches that are only measured.
  Study study(double at_100_s = 0) const {
    Study out{.paths = {folder_.string()}, .kind = "stevens"};
    for (const std::int64_t batch : {1, 3, 10, 30, 100, 300, 1000}) {
      StudyPoint p{.model = "linear",
                   .strategy = "single",
                   .device = "cpu",
                   .hardware = {},
                   .arm = {}};
      p.global_batch = p.per_rank = batch;
      const double n = static_cast<double>(batch);
      double step_s = 120e-6 + 15e-6 * n;
      if (batch == 100) step_s -= n * at_100_s;
      p.step = single_value(step_s);
      p.step.low = p.step.high = step_s;
      p.epoch_s = 2000 / n * step_s;
      out.points.push_back(p);
    }
    return out;
  }

  fs::path folder_;
};

TEST_F(LayerTimesTest, ASamplesTimeIsSplitByLayerUpdateAndTheRest) {
  const LayerFindings found = layer_findings_of(study());
  ASSERT_EQ(found.times.size(), 1u);
  const LayerTimes& t = found.times[0];
  ASSERT_EQ(t.layers.size(), 4u);
  EXPECT_NEAR(t.layers[0].sample_s[1], 10e-6, 1e-12);  // thin
  EXPECT_NEAR(t.layers[1].sample_s[1], 10e-6, 1e-12);  // wide
  EXPECT_NEAR(t.layers[2].sample_s[1], 2e-6, 1e-12);   // update
  EXPECT_EQ(t.layers[3].layer, "between layers");
  EXPECT_NEAR(t.layers[3].sample_s[1], 5e-6, 1e-12);
  EXPECT_NEAR(t.whole_s(0), 135e-6, 1e-12);
  EXPECT_TRUE(found.dips.empty());
}

TEST_F(LayerTimesTest, TheLayerThatFallsIsNamedAndWhatIsFlatSaysSo) {
  const LayerFindings found = layer_findings_of(study());
  // Fitted by the study: 120 us of launches against 15 us a sample.
  EXPECT_EQ(found.times[0].batches[found.times[0].bend], 10);
  const std::vector<std::string> said = layer_sentences(found);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("linear on made device, one device: from 1 to 10 a "
                         "sample's time falls from 135 us to 27.0 us (thin "
                         "83.3 %, update 16.7 %)"),
            std::string::npos)
      << said[0];
  const Json rows = to_json(layers_table(found))["rows"];
  EXPECT_NEAR(rows[0]["share_of_fall"].get<double>(), 5.0 / 6, 1e-9);
  EXPECT_NEAR(rows[1]["change_after"].get<double>(), 0, 1e-9);
}

TEST_F(LayerTimesTest, ADipIsExplainedByTheLayersThatDipToo) {
  // At 100 the wide layer finds a better kernel: 4 us a sample less.
  Profile p = known_profile();
  p.layers[1].forward_s[2] -= 4e-6 * 100, p.step_s[2] -= 4e-6 * 100;
  save_profile(folder_ / "profiles/linear.json", p);
  const LayerFindings found = layer_findings_of(study(4e-6));
  ASSERT_EQ(found.dips.size(), 1u);
  EXPECT_EQ(found.dips[0].batch, 100);
  EXPECT_NE(found.dips[0].layers.find("wide"), std::string::npos)
      << found.dips[0].layers;
  EXPECT_NE(layer_sentences(found).back().find("dips at batch 100"),
            std::string::npos);
}

TEST_F(LayerTimesTest, ADipNoLayerShowsSaysThat) {
  const LayerFindings found = layer_findings_of(study(4e-6));
  ASSERT_EQ(found.dips.size(), 1u);
  EXPECT_NE(layer_sentences(found).back().find("no layer of the profile"),
            std::string::npos)
      << layer_sentences(found).back();
}

TEST_F(LayerTimesTest, WhatIntervalsDoNotTellApartIsNoDip) {
  Study unsure = study(4e-6);
  for (StudyPoint& p : unsure.points) p.step.high *= 1.5;
  EXPECT_TRUE(layer_findings_of(unsure).dips.empty());
  for (StudyPoint& p : unsure.points) p.step.low = p.step.high = std::nan("");
  EXPECT_TRUE(layer_findings_of(unsure).dips.empty());
}

TEST_F(LayerTimesTest, AProfileThatCannotBeReadIsNamed) {
  std::ofstream(folder_ / "profiles/broken.json") << "{";
  const LayerFindings found = layer_findings_of(study());
  EXPECT_EQ(found.times.size(), 1u);
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_NE(layer_sentences(found).back().find("broken.json"),
            std::string::npos);
}

TEST_F(LayerTimesTest, WithoutAProfileNothingIsSaid) {
  fs::remove_all(folder_ / "profiles");
  EXPECT_TRUE(layer_sentences(layer_findings_of(study())).empty());
  EXPECT_TRUE(layers_table(layer_findings_of(study())).rows.empty());
}

}  // namespace
}  // namespace lockstep
