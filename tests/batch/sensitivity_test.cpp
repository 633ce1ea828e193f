// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/batch/special.h"

namespace lockstep {
namespace {

// 4 batch sizes x 5 seeds; the outcome follows the batch only.
struct Study {
  Series batch{"batch", {}}, lr{"lr", {}}, outcome{"outcome", {}};
  Study() {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20; ++i) {
      batch.values.push_back(32 << (i % 4));
      lr.values.push_back(i / 4 % 2 == 0 ? 0.1 : 0.2);
      outcome.values.push_back(3 * (i % 4) + draw_normal(random));
    }
  }
};

TEST(Sensitivity, RanksTheSettingThatMatters) {
  const Study s;
  const auto rows =
      measure_sensitivity(std::vector{s.batch, s.lr}, std::vector{s.outcome});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_GT(rows[0].share, 0.6);
  EXPECT_LT(rows[0].test.p_value, 0.01);
  EXPECT_NEAR(rows[0].entropy, std::log(4), 1e-12);
  EXPECT_GT(rows[0].gaussian_nats, 0.6);
  EXPECT_LT(rows[1].share, 0.4);
  EXPECT_GT(rows[1].test.p_value, 0.05);
}

// Two runs each, far apart: the estimate passes the entropy of the setting.
TEST(Sensitivity, NothingSaysMoreThanAllAboutASetting) {
  const Series batch{"batch", {16, 16, 32, 32, 64, 64, 128, 128}},
      outcome{"o", {1, 1.01, 2, 2.01, 4, 4.01, 8, 8.01}};
  const auto rows =
      measure_sensitivity(std::vector{batch}, std::vector{outcome});
  EXPECT_GT(rows[0].nats, rows[0].entropy);
  EXPECT_EQ(rows[0].share, 1);
  EXPECT_THAT(rows[0].note, testing::HasSubstr("all of it"));
}

TEST(Sensitivity, SettingsThatChangeTogetherAreNamed) {
  Study s;
  for (std::size_t i = 0; i < 20; ++i) s.lr.values[i] = s.batch.values[i] / 320;
  const auto rows =
      measure_sensitivity(std::vector{s.batch, s.lr}, std::vector{s.outcome});
  EXPECT_EQ(rows[0].note, "changes together with lr");
  EXPECT_EQ(rows[1].note, "changes together with batch");
}

TEST(Sensitivity, RunsThatDivergedAreLeftOutAndCounted) {
  Study s;
  s.outcome.values[3] = std::nan("");
  const auto rows =
      measure_sensitivity(std::vector{s.batch}, std::vector{s.outcome});
  EXPECT_EQ(rows[0].num_runs, 19u);
  EXPECT_EQ(rows[0].note, "1 runs without it");
}

TEST(Sensitivity, OneRunOfEachIsNotEnoughAndSaysSo) {
  const Series batch{"batch", {32, 64, 128}}, outcome{"o", {1, 2, 3}};
  const auto rows =
      measure_sensitivity(std::vector{batch}, std::vector{outcome});
  EXPECT_FALSE(rows[0].known);
  EXPECT_THAT(rows[0].note, testing::HasSubstr("two values with two runs"));
}

}  // namespace
}  // namespace lockstep
