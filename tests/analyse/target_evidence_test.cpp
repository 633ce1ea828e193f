// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/target_evidence.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/store/run_folder.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 1000;  // of an epoch

struct Made {
  std::int64_t batch = 64;
  std::int64_t reached_after = 10;  // epochs until accuracy 0.9
  double lr = 0.1;
  ModelKind model = ModelKind::linear;
  bool validated = true;
  double late_noise = 0;       // 0: its samples do not resolve it
  LrRule rule = LrRule::none;  // from a batch of 64
};

class EvidenceRuns {
 public:
  void add(const Made& m) {
    RunConfig config;
    config.model.kind = m.model;
    config.batch.per_rank = m.batch;
    config.optim.lr = m.lr;
    config.optim.lr_rule = m.rule, config.optim.base_batch = 64;
    RunFolder folder = RunFolder::create(
        path() / "runs" / fmt::format("{:03}", ++count_), config, Json{});
    std::vector<EpochSample> epochs;
    for (std::int64_t e = 0; e < m.reached_after + 2; ++e) {
      EpochSample row{.epoch = e};
      row.train_loss = 1;
      row.global_batch = m.batch;
      if (m.validated) row.val_accuracy = e + 1 < m.reached_after ? 0.5 : 0.9;
      epochs.push_back(row);
    }
    folder.append({}, {}, epochs);
    RunRecord record;
    record.config = to_json(config);
    record.data = {{"train_samples", kSamples}};
    record.summary["noise_scale"]["second_half"] = {
        {"resolved", m.late_noise > 0},
        {"value", m.late_noise},
        {"low90", m.late_noise / 2},
        {"high90", m.late_noise * 2}};
    folder.write_record(record);
  }
  std::filesystem::path path() const { return dir_.path; }

 private:
  TempDir dir_;
  int count_ = 0;
};

std::string refusal(const EvidenceRuns& runs, double accuracy) {
  try {
    read_target_evidence(runs.path(), accuracy);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TargetEvidence, CountsSamplesUntilTheAccuracyWasFirstSeen) {
  EvidenceRuns runs;
  runs.add({.batch = 64, .reached_after = 7});
  const TargetEvidence e = read_target_evidence(runs.path(), 0.9);
  ASSERT_EQ(e.batches.size(), 1u);
  EXPECT_EQ(e.batches[0].samples, 7 * kSamples);
  EXPECT_EQ(e.batches[0].lr, 0.1);
  EXPECT_EQ(e.noise_scale, 0);
  EXPECT_EQ(e.log_half_90, 0) << "one run says nothing of the next one";
  // One run's own folder is evidence too.
  EXPECT_EQ(read_target_evidence(runs.path() / "runs" / "001", 0.9).runs(), 1u);
}

TEST(TargetEvidence, RepeatsGiveAMedianAndHowFarOneMoreMayBeOff) {
  EvidenceRuns runs;
  for (const int epochs : {9, 10, 12}) runs.add({.reached_after = epochs});
  const TargetEvidence e = read_target_evidence(runs.path(), 0.9);
  EXPECT_EQ(e.batches[0].samples, 10 * kSamples);
  // sd of ln{9, 10, 12} = 0.1450, t(0.95; 2) = 2.920, sqrt(1 + 1/3)
  EXPECT_NEAR(e.log_half_90, 2.920 * 0.1450 * std::sqrt(4.0 / 3), 2e-3);
}

TEST(TargetEvidence, TheBetterLearningRateSpeaksForABatch) {
  EvidenceRuns runs;
  runs.add({.reached_after = 20, .lr = 0.1});
  runs.add({.reached_after = 8, .lr = 0.4});
  EXPECT_EQ(read_target_evidence(runs.path(), 0.9).batches[0].lr, 0.4);
}

// samples = E_min (1 + B / B_crit), E_min = 10 epochs, B_crit = 512.
TEST(TargetEvidence, ThreeBatchSizesShowTheNoiseScale) {
  EvidenceRuns runs;
  for (const std::int64_t batch : {128, 256, 512, 1024})
    runs.add({.batch = batch, .reached_after = 40 + 40 * batch / 512});
  const TargetEvidence e = read_target_evidence(runs.path(), 0.9);
  ASSERT_TRUE(e.noise_fitted);
  EXPECT_NEAR(e.noise_scale, 512, 1);
  EXPECT_NEAR(e.min_examples, 40 * kSamples, 100);
}

TEST(TargetEvidence, OneRunBringsTheNoiseOfItsSecondHalf) {
  EvidenceRuns runs;
  runs.add({.late_noise = 4000});
  const TargetEvidence e = read_target_evidence(runs.path(), 0.9);
  EXPECT_EQ(e.noise_scale, 4000);
  EXPECT_FALSE(e.noise_fitted);
}

TEST(TargetEvidence, ARateThatFollowsItsBatchIsTheOneThatWasUsed) {
  EvidenceRuns runs;
  runs.add({.batch = 256, .rule = LrRule::linear});
  EXPECT_DOUBLE_EQ(read_target_evidence(runs.path(), 0.9).batches[0].lr, 0.4);
}

TEST(TargetEvidence, SaysWhatIsMissing) {
  EvidenceRuns none, never, mixed;
  none.add({.validated = false});
  EXPECT_THAT(refusal(none, 0.9), HasSubstr("nothing was held back"));
  never.add({});
  EXPECT_THAT(refusal(never, 0.95), HasSubstr("accuracy seen is 0.9"));
  mixed.add({.model = ModelKind::linear});
  mixed.add({.model = ModelKind::resnet18});
  EXPECT_THAT(refusal(mixed, 0.9), HasSubstr("holds runs of linear and of"));
  EXPECT_THAT(refusal(EvidenceRuns{}, 0.9), HasSubstr("holds no run"));
}

}  // namespace
}  // namespace lockstep
