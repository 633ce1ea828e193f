// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/step_log.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/kernels/loss.h"

namespace lockstep {
namespace {

StepOutcome outcome(double loss_sum, std::int64_t correct) {
  return {at::scalar_tensor(loss_sum), at::scalar_tensor(correct, at::kLong)};
}

TEST(StepLog, GivesMeansAndCountsWhenItIsRead) {
  StepLog log(2, at::kCPU);
  log.add(outcome(8, 3), 4, 4);
  log.add({}, 0, 0);  // a rank without samples
  const std::vector<StepResult> got = log.drain();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].loss, 2);
  EXPECT_EQ(got[0].correct, 3);
  EXPECT_EQ(got[1].samples, 0);
}

// Two passes, the first with a target that is no class: see kernels/loss.h.
TEST(StepLog, RefusesATargetThatIsNoClass) {
  StepLog log(2, at::kCPU);
  log.add(outcome(8, 3), 4, 4);
  log.add(outcome(std::nan(""), kNoSuchClass + 4), 4, 4);
  try {
    log.drain();
    FAIL() << "counted what cannot be";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
  }
}

}  // namespace
}  // namespace lockstep
