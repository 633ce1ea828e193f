// SPDX-License-Identifier: Apache-2.0
#include "lockstep/advise/batch_by_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr double kFixed_s = 1e-3, kPerSample_s = 1e-5, kNoise = 500;

// Step time a + b B on one device; examples are worth (phi + 32) / (phi + B).
BatchComparison one_measured() {
  BatchComparison c;
  c.base_batch = 32;
  for (const double batch : {32., 128., 512., 2048., 8192.})
    c.rows.push_back(
        {.batch = batch, .step_s = kFixed_s + kPerSample_s * batch});
  c.noise = NoiseAlongRun{kNoise, kNoise / 2, kNoise * 2};
  return c;
}

std::vector<BatchForDevices> on_h200s(const std::vector<int>& devices) {
  return best_batches(one_device(one_measured(), find_subject("resnet18")),
                      find_cluster("hgx-h200"), devices);
}

// B* = sqrt(a phi / b), to the nearest of eight sizes a doubling.
TEST(BatchByDevices, OneDeviceIsTheClosedForm) {
  const auto rows = on_h200s({1});
  const double exact = std::sqrt(kFixed_s * kNoise / kPerSample_s);
  EXPECT_NEAR(std::log2(double(rows[0].batch) / exact), 0, 1.0 / 8);
  EXPECT_NEAR(rows[0].step_s, kFixed_s + kPerSample_s * double(rows[0].batch),
              1e-5);
  EXPECT_EQ(rows[0].speedup, 1);
  EXPECT_LT(rows[0].low, rows[0].batch);
  EXPECT_GT(rows[0].high, rows[0].batch);
  EXPECT_FALSE(rows[0].beyond);
}

// A step of K devices costs its fixed part once: the batch grows with sqrt(K)
// at least, and every device gets as many.
TEST(BatchByDevices, MoreDevicesWantALargerBatchAndGainLessThanTheyAre) {
  const std::vector<int> counts = {1, 2, 4, 8};
  const auto rows = on_h200s(counts);
  ASSERT_EQ(rows.size(), counts.size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_GT(rows[i].batch, rows[i - 1].batch);
    EXPECT_GT(rows[i].goodput, rows[i - 1].goodput);
    EXPECT_LT(rows[i].speedup, counts[i]);
    EXPECT_EQ(rows[i].batch % counts[i], 0);
    EXPECT_LT(rows[i].efficiency, rows[i - 1].efficiency);
  }
}

TEST(BatchByDevices, WhatCannotBeJudgedIsRefused) {
  const auto complaint = [](const BatchComparison& c) {
    try {
      one_device(c, find_subject("resnet18"));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  BatchComparison c = one_measured();
  c.noise.reset();
  EXPECT_THAT(complaint(c), HasSubstr("no noise scale"));
  c = one_measured();
  c.ranks = 2;
  EXPECT_THAT(complaint(c), HasSubstr("on 2 devices, not on one"));
  c = one_measured();
  c.rows.resize(1);
  EXPECT_THAT(complaint(c), HasSubstr("one batch size only"));
}

}  // namespace
}  // namespace lockstep
