// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/point_labels.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

StudyState study_of(const std::vector<Json>& settings) {
  StudyState out;
  for (const Json& s : settings) {
    PointState point;
    point.id = std::to_string(out.points.size());
    point.settings = s;
    point.predicted = Json::object();
    out.points.push_back(std::move(point));
  }
  return out;
}

TEST(PointLabels, SayWhatVariesAndNothingElse) {
  const auto labels = labels_of(study_of(
      {{{"batch.global", 32}, {"optim.eps", 1e-8}, {"model.kind", "linear"}},
       {{"batch.global", 64}, {"optim.eps", 1e-8}, {"model.kind", "conv1d"}}}));
  EXPECT_EQ(labels.at("0"), "batch=32, model=linear");
  EXPECT_EQ(labels.at("1"), "batch=64, model=conv1d");
}

TEST(PointLabels, TwoSettingsOfOneNameKeepTheirSection) {
  const auto labels =
      labels_of(study_of({{{"data.seed", 1}, {"train.seed", 1}},
                          {{"data.seed", 2}, {"train.seed", 2}}}));
  EXPECT_EQ(labels.at("1"), "data.seed=2, train.seed=2");
}

TEST(PointLabels, WhatHasNotRunYetTellsNothingApart) {
  StudyState study = study_of({{{"batch.global", 32}, {"optim.kind", "sgd"}},
                               {{"batch.global", 64}, {"optim.kind", "sgd"}},
                               {{"batch.global", 64}, {"optim.kind", "lamb"}}});
  study.points[2].predicted = nullptr;
  EXPECT_EQ(labels_of(study).at("1"), "batch=64");
}

TEST(PointLabels, OnePointKeepsItsName) {
  EXPECT_EQ(labels_of(study_of({{{"batch.global", 32}}})).at("0"), "0");
}

}  // namespace
}  // namespace lockstep
