// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/size_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/report/claims.h"
#include "lockstep/report/markdown.h"
#include "lockstep/report/study_document.h"

namespace lockstep {
namespace {

StudyPoint size_point(const std::string& model, std::int64_t ranks,
                      double step_s, Origin origin = Origin::measured) {
  StudyPoint p;
  p.model = model, p.strategy = ranks > 1 ? "ddp" : "single", p.device = "cpu";
  p.ranks = ranks, p.global_batch = 64, p.per_rank = 64 / ranks;
  p.step = single_value(step_s), p.epoch_s = 10 * step_s, p.origin = origin;
  return p;
}

// 0.02, 0.2 and 2 parameter bytes a FLOP: two devices are 1.9, 1.3 and 0.8
// times as fast as one, four (predicted) 3.6, 1.5 and 0.5 times.
Study three_sizes() {
  Study study{.paths = {"made"}, .kind = "variable"};
  struct Row {
    const char* model;
    double two, four;
  };
  for (const Row& row :
       {Row{"variable 100k/20M", 1.9, 3.6}, Row{"variable 1M/20M", 1.3, 1.5},
        Row{"variable 10M/20M", 0.8, 0.5}}) {
    study.points.push_back(size_point(row.model, 1, 0.1));
    study.points.push_back(size_point(row.model, 2, 0.1 / row.two));
    study.points.push_back(
        size_point(row.model, 4, 0.1 / row.four, Origin::predicted));
  }
  return study;
}

TEST(SizeMap, EachSizeHasItsSpeedUpOverOneDeviceAndItsWord) {
  const auto map = size_map_of(three_sizes());
  ASSERT_EQ(map.size(), 6u);
  EXPECT_EQ(map[0].ranks, 2);
  EXPECT_NEAR(map[0].speedup.value, 1.9, 1e-9);
  EXPECT_EQ(map[0].parameter_bytes(), 400'000);
  EXPECT_NEAR(map[0].bytes_per_flop(), 0.02, 1e-12);
  EXPECT_EQ(map[0].verdict, Verdict::scales);
  EXPECT_EQ(map[1].verdict, Verdict::fades);
  EXPECT_EQ(map[2].verdict, Verdict::chokes);
  EXPECT_EQ(map[2].origin, Origin::measured);
  EXPECT_EQ(map[3].origin, Origin::predicted);
}

TEST(SizeMap, TheBoundaryIsSaidWithWhereItComesFrom) {
  const auto boundaries = boundaries_of(size_map_of(three_sizes()));
  ASSERT_EQ(boundaries.size(), 2u);
  EXPECT_EQ(sentence(boundaries[0]),
            "variable on 2 devices with ddp, batch 64 (measured), 0.02 to 2 "
            "parameter bytes for each FLOP of a sample's forward pass: scales "
            "up to 0.02, chokes from 2 on.");
  EXPECT_NE(sentence(boundaries[1])
                .find("4 devices with ddp, batch 64 "
                      "(predicted)"),
            std::string::npos);
}

TEST(SizeMap, AnIntervalThatReachesAnotherWordIsSaid) {
  Study study = three_sizes();
  Estimate& step = study.points[4].step;  // 1.3 times: fades
  Estimate& one = study.points[3].step;
  one.log_draws = {std::log(0.099), std::log(0.1), std::log(0.101)};
  step.log_draws = {std::log(0.06), std::log(0.077), std::log(0.11)};
  EXPECT_TRUE(sentence(boundaries_of(size_map_of(study))[0])
                  .ends_with("Not sure: the intervals of 1 of 3 sizes reach "
                             "another word."));
}

TEST(SizeMap, WhereTheRatioDoesNotDecideThatIsSaid) {
  Study study = three_sizes();
  // The same ratio as the one that scales, and it chokes.
  study.points.push_back(size_point("variable 10k/2M", 1, 0.001));
  study.points.push_back(size_point("variable 10k/2M", 2, 0.002));
  EXPECT_NE(sentence(boundaries_of(size_map_of(study))[0])
                .find("scales up to 0.02, but chokes from 0.02 on: the ratio "
                      "alone does not decide"),
            std::string::npos);
}

TEST(SizeMap, ASideThatNoSizeIsOnIsNotMadeUp) {
  Study study = three_sizes();
  for (StudyPoint& p : study.points)
    if (p.ranks == 2)
      p.step = single_value(0.1 / 1.3);
    else if (p.ranks == 4)
      p.step = single_value(0.025);
  const auto boundaries = boundaries_of(size_map_of(study));
  EXPECT_TRUE(sentence(boundaries[0]).ends_with(": every size fades."));
  EXPECT_TRUE(
      sentence(boundaries[1]).ends_with(": scales up to 2, no size chokes."));
  for (StudyPoint& p : study.points)
    if (p.ranks > 1) p.step = single_value(0.2);
  EXPECT_TRUE(sentence(boundaries_of(size_map_of(study))[0])
                  .ends_with(": no size scales, chokes from 0.02 on."));
}

TEST(SizeMap, OneDeviceThatWasPredictedMakesTheSpeedUpAPrediction) {
  Study study = three_sizes();
  for (StudyPoint& p : study.points)
    if (p.ranks == 1) p.origin = Origin::predicted;
  for (const SizeCell& c : size_map_of(study))
    EXPECT_EQ(c.origin, Origin::predicted);
}

ClaimVerdict verdict_on(const Study& study) {
  const std::vector<Claim> claims = claims_of(study);
  EXPECT_EQ(claims.size(), 1u);
  return claims.at(0).verdict;
}

TEST(SizeMap, DecidesWhatTheSeedConcludes) {
  Study study = three_sizes();
  EXPECT_EQ(verdict_on(study), ClaimVerdict::holds);
  // Few bytes a FLOP, and still it chokes.
  study.points[1].step = single_value(0.2);
  study.points[7].step = single_value(0.05);
  EXPECT_EQ(verdict_on(study), ClaimVerdict::does_not_hold);
  // Nothing chokes: half of the sentence is not tried.
  for (StudyPoint& p : study.points)
    p.step = single_value(0.1 / static_cast<double>(p.ranks));
  EXPECT_EQ(verdict_on(study), ClaimVerdict::cannot_be_tested);
  EXPECT_EQ(verdict_on(Study{.paths = {}, .kind = "variable"}),
            ClaimVerdict::cannot_be_tested);
}

TEST(SizeMap, OneSizeOrAnotherModelIsNoMap) {
  Study study = three_sizes();
  study.points.resize(3);
  EXPECT_TRUE(size_map_of(study).empty());
  study = three_sizes();
  for (StudyPoint& p : study.points) p.model = "linear";
  EXPECT_TRUE(size_map_of(study).empty());
  // Nothing of one device: nothing to be faster than.
  study = three_sizes();
  std::erase_if(study.points, [](const auto& p) { return p.ranks == 1; });
  EXPECT_TRUE(size_map_of(study).empty());
}

TEST(SizeMap, ReportAndDocumentSayTheSame) {
  const Study study = three_sizes();
  const StudyFindings findings = find_out(study);
  const Json document = study_document(study, findings, {});
  ASSERT_EQ(document["sizes"].size(), 6u);
  EXPECT_EQ(document["sizes"][1]["verdict"], "fades");
  EXPECT_EQ(document["sizes"][4]["origin"], "predicted");
  EXPECT_EQ(document["boundaries"][0]["chokes_from"], 2.0);
  const std::string said = document["boundaries"][0]["sentence"];
  EXPECT_NE(study_text(study, findings, {}).find(said), std::string::npos);
  const std::string page = study_markdown(study, findings, {});
  EXPECT_NE(page.find("**" + said + "**"), std::string::npos);
  EXPECT_NE(page.find("## Which sizes scale"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
