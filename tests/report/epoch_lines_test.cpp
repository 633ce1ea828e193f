// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/epoch_lines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

constexpr double kLinear = 12'102'220 * 4.0;  // bytes of its parameters

// A world that is known: one device takes 0.1 s and 2 ms a step, several send
// the model out and back at `rate` on top.
Study known_study(double rate, Origin several = Origin::measured) {
  Study study{.paths = {}, .kind = "stevens"};
  for (const std::int64_t batch : {10, 20, 50, 100, 500})
    for (const std::int64_t ranks : {1, 2}) {
      const double steps = 2000.0 / double(batch);
      StudyPoint p{.model = "linear",
                   .strategy = ranks > 1 ? "data_parallel" : "single",
                   .device = "cpu",
                   .hardware = {},
                   .arm = {}};
      p.ranks = ranks, p.global_batch = batch, p.per_rank = batch / ranks;
      p.epoch_s = 0.1 + 0.002 * steps;
      if (ranks > 1) {
        p.origin = several;
        p.payloads = {{"gradients", 1, kLinear, kLinear, 0},
                      {"parameters", 1, kLinear, kLinear, 0}};
        p.pieces.exposed_comm_s = 2 * kLinear / rate;
        p.epoch_s += steps * p.pieces.exposed_comm_s;
      }
      p.step = single_value(p.epoch_s / steps);
      study.points.push_back(p);
    }
  return study;
}

const EpochLine& line_of(const std::vector<EpochLine>& lines, bool here,
                         const std::string& model, std::int64_t ranks) {
  for (const EpochLine& line : lines)
    if (line.here == here && line.model == model && line.ranks == ranks)
      return line;
  throw Error(Fault::internal, model, "no such line");
}

TEST(EpochLines, AKnownLinkIsReadFromTheSlopeOnceOneDevicesIsTakenAway) {
  const double rate = 2e9;
  const std::vector<EpochLine> lines = epoch_lines_of(known_study(rate));
  const EpochLine& two = line_of(lines, true, "linear", 2);
  const double step_s = 2 * kLinear / rate;
  EXPECT_NEAR(two.communication_share(), step_s / (step_s + 0.002), 1e-9);
  EXPECT_NEAR(two.rate(), 2 * kLinear / (step_s + 0.002), 1);
  EXPECT_NEAR(two.exposed_by_bytes->slope, 1 / rate, 1e-15);
  EXPECT_NEAR(two.by_inverse_batch.offset, 0.1, 1e-9);
  EXPECT_NEAR(two.by_inverse_batch.slope, 2000 * (step_s + 0.002), 1e-6);
  EXPECT_FALSE(line_of(lines, true, "linear", 1).by_bytes);
}

// The seed's arithmetic: 10, 2 and 1 GB in 5, 1 and 0.5 s, about 2 GB/s. One
// GPU, which sends nothing, has a tenth of that slope.
TEST(EpochLines, TheSeedsOwnNumbersReadTwoGigabytesASecond) {
  const std::vector<EpochLine> lines = epoch_lines_of(known_study(2e9));
  for (const std::int64_t ranks : {2, 4}) {
    const EpochLine& seed = line_of(lines, false, "linear", ranks);
    EXPECT_NEAR(seed.rate(), 2.2e9, 0.05e9);
    EXPECT_NEAR(seed.communication_share(), 0.906, 0.005);
    EXPECT_GT(seed.by_bytes->r2, 0.999);
  }
}

TEST(EpochLines, PointsThatFollowNoLineHaveNoShares) {
  Study study = known_study(2e9);
  for (StudyPoint& p : study.points) p.model = "conv1d";
  const EpochLine& seed =
      line_of(epoch_lines_of(study), false, "conv1d", 2);  // R2 0.53
  EXPECT_TRUE(std::isnan(seed.communication_share()));
  const Table table = byte_lines_table(epoch_lines_of(study));
  EXPECT_EQ(to_json(table)["rows"].back()["communication_share"], nullptr);
}

TEST(EpochLines, WhatWasNotRunHasThePlansBytesAndSaysPredicted) {
  Study study = known_study(2e9, Origin::predicted);
  for (StudyPoint& p : study.points) p.payloads.clear();
  const std::vector<EpochLine> lines = epoch_lines_of(study);
  const EpochLine& two = line_of(lines, true, "linear", 2);
  EXPECT_EQ(two.origin, Origin::predicted);
  EXPECT_FALSE(two.exposed_by_bytes);
  // Out and back, half of the clips and of the answers beside them.
  EXPECT_NEAR(two.link_bytes[0] / (200 * 2 * kLinear), 1, 0.01);
}

TEST(EpochLines, TwoBatchSizesAreNoLine) {
  Study study = known_study(2e9);
  std::erase_if(study.points,
                [](const StudyPoint& p) { return p.global_batch > 20; });
  EXPECT_TRUE(epoch_lines_of(study).empty());
  study.kind = "hpml";
  EXPECT_TRUE(epoch_lines_of(study).empty());
}

}  // namespace
}  // namespace lockstep
