// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_reasons.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

struct Sample {
  std::int64_t batch;
  double compute_s, copy_s, idle_s;  // of one sample
};

Study study_of(const std::vector<Sample>& samples) {
  Study study{.paths = {}, .kind = "hpml"};
  for (const Sample& s : samples) {
    RunFacts run{.path = {}, .name = {}, .status = "done"};
    run.model = "resnet18", run.parameters = 11'173'962;
    run.precision = "fp32", run.flops_a_sample = 3e9;
    run.launches_a_step = 1, run.operations_a_step = 190;
    StudyPoint p{.model = "resnet18",
                 .strategy = "single",
                 .device = "cuda",
                 .hardware = {},
                 .arm = {}};
    const double n = static_cast<double>(s.batch);
    p.global_batch = p.per_rank = s.batch;
    p.pieces.forward_s = 0.4 * n * s.compute_s;
    p.pieces.backward_s = 0.5 * n * s.compute_s;
    p.pieces.optim_s = 0.1 * n * s.compute_s;
    p.pieces.copy_s = n * s.copy_s;
    p.step = single_value(n * (s.compute_s + s.copy_s + s.idle_s));
    p.epoch_s = 50'000 / n * p.step.value;
    p.runs = {study.runs.size()};
    study.runs.push_back(run), study.points.push_back(p);
  }
  return study;
}

TEST(BatchReasons, ASamplesTimeIsComputeCopiesAndAnIdleDevice) {
  const auto reasons =
      batch_reasons_of(study_of({{32, 3e-4, 2e-5, 1e-5}, {512, 1e-4, 0, 0}}));
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_NEAR(reasons[0].compute_s, 3e-4, 1e-12);
  EXPECT_NEAR(reasons[0].copy_s, 2e-5, 1e-12);
  EXPECT_NEAR(reasons[0].idle_s, 1e-5, 1e-12);
  EXPECT_NEAR(reasons[1].flops_per_s, 3e13, 1e3);
  EXPECT_EQ(reasons[1].operations, 190);
  // Weights are read once a step, whatever the batch.
  EXPECT_GT(reasons[1].flops_per_byte, reasons[0].flops_per_byte);
}

TEST(BatchReasons, FullerKernelsAreNotIntensity) {
  // Three times the FLOP/s while intensity grows by a tenth.
  const Claim claim =
      nearer_to_compute(study_of({{32, 3e-4, 0, 0}, {512, 1e-4, 0, 0}}));
  EXPECT_EQ(claim.verdict, ClaimVerdict::does_not_hold) << claim.measured;
  EXPECT_NE(claim.measured.find("100 % of the difference"), std::string::npos)
      << claim.measured;
  EXPECT_EQ(
      fewer_trips(study_of({{32, 3e-4, 0, 0}, {512, 1e-4, 0, 0}})).verdict,
      ClaimVerdict::does_not_hold);
}

TEST(BatchReasons, WhereTheWeightsWeighIntensityIsWhy) {
  const Claim claim =
      nearer_to_compute(study_of({{1, 1.5e-4, 0, 0}, {512, 1e-4, 0, 0}}));
  EXPECT_EQ(claim.verdict, ClaimVerdict::holds) << claim.measured;
}

TEST(BatchReasons, CopiesAndWaitingThatAreSavedAreTripsSaved) {
  const Claim claim =
      fewer_trips(study_of({{32, 2e-4, 5e-5, 5e-5}, {512, 1e-4, 0, 0}}));
  EXPECT_EQ(claim.verdict, ClaimVerdict::holds);
  EXPECT_NE(claim.measured.find("50.0 % of the difference"), std::string::npos)
      << claim.measured;
}

TEST(BatchReasons, OneBatchOrAnotherModelProvesNothing) {
  EXPECT_EQ(fewer_trips(study_of({{32, 1e-4, 0, 0}})).verdict,
            ClaimVerdict::cannot_be_tested);
  Study other = study_of({{32, 3e-4, 0, 0}, {512, 1e-4, 0, 0}});
  for (RunFacts& run : other.runs) run.parameters = 5;
  EXPECT_TRUE(std::isnan(batch_reasons_of(other)[0].flops_per_byte));
  EXPECT_EQ(nearer_to_compute(other).verdict, ClaimVerdict::cannot_be_tested);
}

}  // namespace
}  // namespace lockstep
