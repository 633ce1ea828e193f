// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/study_recipe.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::string study_error(const std::string& toml) {
  try {
    parse_study(toml, "s.toml");
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::config);
    return e.what();
  }
  return "no error";
}

TEST(StudyRecipe, EveryCombinationIsAPlaceAndTheLastListMovesFastest) {
  const StudyRecipe s = parse_study(
      "[grid]\nmodel.kind = [\"linear\", \"conv1d\"]\n"
      "batch.global = [10, 20, 30]\n",
      "s.toml");
  ASSERT_EQ(s.places.size(), 6u);
  // TOML tables know no order: names are sorted, batch before model.
  EXPECT_EQ(s.places[0].settings["batch.global"], 10);
  EXPECT_EQ(s.places[0].settings["model.kind"], "linear");
  EXPECT_EQ(s.places[1].settings["model.kind"], "conv1d");
  EXPECT_EQ(s.places[1].config.run.model.kind, ModelKind::conv1d);
  EXPECT_EQ(s.varied, (std::vector<std::string>{"batch.global", "model.kind"}));
}

TEST(StudyRecipe, GridsAddUpAndMeetOnce) {
  const StudyRecipe s = parse_study(
      "[batch]\nglobal = 5\n[[grid]]\ncomm.ranks = [1, 2]\n"
      "[[grid]]\ncomm.ranks = 2\nbatch.global = [5, 10]\n",
      "s.toml");
  ASSERT_EQ(s.places.size(), 3u);
  // The first grid says nothing of the batch: the recipe's stands there.
  EXPECT_EQ(s.places[0].settings["batch.global"], 5);
}

TEST(StudyRecipe, ExclusionsTakePlacesOut) {
  const StudyRecipe s = parse_study(
      "[grid]\nbatch.global = [10, 20]\ncomm.ranks = [1, 2, 3]\n"
      "[[exclude]]\nbatch.global = 10\ncomm.ranks = [2, 3]\n",
      "s.toml");
  EXPECT_EQ(s.places.size(), 4u);
}

TEST(StudyRecipe, AListOfNumbersIsOneValueWhereTheSettingIsAList) {
  const StudyRecipe s = parse_study(
      "[grid]\ndata.mean = [[0.5], [0.4, 0.3]]\ndata.std = [1, 1]\n", "s.toml");
  ASSERT_EQ(s.places.size(), 2u);
  EXPECT_EQ(s.places[1].config.run.data.mean, (std::vector<double>{0.4, 0.3}));
}

TEST(StudyRecipe, EachMistakeIsOneErrorWithItsPlace) {
  EXPECT_EQ(study_error("[batch]\nper_rank = 1\n"),
            "s.toml: has no [grid]: it is no study");
  EXPECT_EQ(study_error("[grid]\ncomm.ranks = []\n"),
            "s.toml:2:6: comm.ranks: an empty list makes no points");
  EXPECT_EQ(study_error("[grid]\ncomm.rank = [1]\n"),
            "s.toml:2:6: comm.rank: there is no such setting");
  EXPECT_EQ(study_error("[grid]\ncomm.ranks = [1, 0]\n"),
            "s.toml:2:6: comm.ranks: 0 is out of range");
  EXPECT_EQ(study_error("[grid]\ncomm.ranks = [1, 1]\n"),
            "s.toml:2:6: comm.ranks: 1 stands there twice");
  EXPECT_EQ(study_error("[grid]\nranks = [1]\n"),
            "s.toml:2:1: ranks: is not a setting");
  EXPECT_EQ(study_error("grid = 3\n"), "s.toml:1:1: grid: is no table");
  EXPECT_EQ(study_error("[study]\nmeasur = \"time\"\n[grid]\ncomm.ranks = 1\n"),
            "s.toml:2:1: study.measur: there is no such setting");
  EXPECT_EQ(study_error("[grid]\ntrain.steps = [1, 2]\n"),
            "s.toml:2:7: train.steps: measure = \"time\" sets it itself");
  EXPECT_EQ(study_error("[study]\nmin_repeats = 5\nmax_repeats = 2\n"
                        "[grid]\ncomm.ranks = 1\n"),
            "s.toml:2:1: study.min_repeats: 5 is more than max_repeats, 2");
}

TEST(StudyRecipe, ExclusionsThatDoNothingOrEverythingAreMistakes) {
  const std::string grid = "[grid]\ncomm.ranks = [1, 2]\n[[exclude]]\n";
  EXPECT_EQ(study_error(grid + "comm.ranks = 7\n"),
            "s.toml:3:1: exclude: matches no point of the grid");
  EXPECT_EQ(study_error(grid + "comm.ranks = [1, 2]\n"),
            "s.toml:1:2: grid: every point is excluded");
}

TEST(StudyRecipe, AGridOfMillionsIsRefusedBeforeItIsLaidOut) {
  std::string list = "[1";
  for (int i = 2; i <= 1000; ++i) list += ", " + std::to_string(i);
  list += "]\n";
  EXPECT_EQ(study_error("[grid]\ncomm.ranks = " + list +
                        "batch.global = " + list + "train.seed = " + list),
            "s.toml:1:2: grid: 1e+09 points are more than 100000");
}

}  // namespace
}  // namespace lockstep
