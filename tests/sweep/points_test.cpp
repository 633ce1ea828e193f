// SPDX-License-Identifier: Apache-2.0
#include "lockstep/sweep/points.h"

#include <gtest/gtest.h>

#include "lockstep/store/run_folder.h"
#include "lockstep/sweep/verify.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

std::vector<Point> points(const std::string& toml) {
  return points_of(parse_study(toml, "s.toml"));
}

TEST(Points, AreNamedByTheirPlaceAndWhatVaries) {
  const auto p = points(
      "[model]\nkind = \"conv1d\"\n[grid]\nbatch.global = [10, 20]\n"
      "strategy.kind = [\"single\", \"ddp\"]\n");
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[0].id, "1-single-10");
  EXPECT_EQ(p[3].id, "4-ddp-20");
}

TEST(Points, ATimedRunIsShortAndLeavesNothingBehind) {
  const Point p = points(
                      "[study]\nwarmup_steps = 2\ntimed_steps = "
                      "5\n[grid]\nbatch.global = 8\n")
                      .front();
  EXPECT_EQ(p.config.train.steps, 7);
  EXPECT_EQ(p.config.train.eval_every, 0);
  EXPECT_FALSE(p.config.store.checkpoint);
}

TEST(Points, TheLearningRateFollowsTheGlobalBatch) {
  const auto p = points(
      "[derive]\nlr_base = 0.1\nlr_base_batch = 128\n[grid]\n"
      "batch.per_rank = 128\ncomm.ranks = 4\nstrategy.kind = \"ddp\"\n"
      "derive.lr_rule = [\"fixed\", \"linear\", \"square_root\"]\n");
  ASSERT_EQ(p.size(), 3u);
  EXPECT_DOUBLE_EQ(p[0].config.optim.lr, 0.1);
  EXPECT_DOUBLE_EQ(p[1].config.optim.lr, 0.4);
  EXPECT_DOUBLE_EQ(p[2].config.optim.lr, 0.2);
  EXPECT_EQ(p[1].arm, "linear");
  EXPECT_EQ(axes_of(p[1])["arm"], "linear");
}

TEST(Points, AnArmSaysHowItDiffersFromTheRecipe) {
  const auto p = points(
      "[optim]\nwarmup_epochs = 1.0\n[[grid]]\nbatch.global = [8, 16]\n"
      "train.seed = [1, 2]\n[[grid]]\nbatch.global = 8\ndata.flip = true\n"
      "derive.lr_rule = \"linear\"\noptim.warmup_epochs = 2.0\n");
  EXPECT_EQ(p[0].arm, "");
  EXPECT_EQ(p[4].arm, "linear, flip=true, warmup_epochs=2.0");
}

TEST(Points, ModelsOfOneFamilyAreToldApart) {
  const auto p = points(
      "[model]\nkind = \"variable\"\n[grid]\nbatch.global = 8\n"
      "model.variable_params = [1000000, 1500000]\n");
  EXPECT_EQ(axes_of(p[0])["model"], "variable 1M/2M");
  EXPECT_EQ(axes_of(p[1])["model"], "variable 1500k/2M");
}

TEST(Points, OneThatCannotBeIsNamed) {
  try {
    points(
        "[strategy]\nkind = \"single\"\n[grid]\nbatch.global = 8\n"
        "comm.ranks = [1, 2]\n");
    FAIL() << "two ranks of single";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "point comm.ranks=2: strategy.kind: single trains on one rank, "
              "comm.ranks is 2");
    EXPECT_NE(e.hint().find("[[exclude]]"), std::string::npos);
  }
}

TEST(Points, MoreRanksThanCoresAreNeverTimed) {
  auto p = points(
      "[strategy]\nkind = \"ddp\"\n[grid]\nbatch.global = 8\n"
      "comm.ranks = [1, 2, 4]\n");
  place_points(p, {}, {.cores = 2}, false);
  EXPECT_EQ(p[1].mode, PointMode::timed);
  EXPECT_EQ(p[2].mode, PointMode::correctness);
  EXPECT_EQ(p[2].why, "ranks x threads 4 x 1, cores 2");
  place_points(p, {}, {.cores = 2}, true);
  EXPECT_EQ(p[1].mode, PointMode::timed);
  EXPECT_EQ(p[2].mode, PointMode::predicted);
  place_points(p, {}, {.cores = 4}, true);
  EXPECT_EQ(p[2].mode, PointMode::timed);
}

TEST(Points, RanksThatShareAGpuAreNeverTimed) {
  auto p = points(
      "[strategy]\nkind = \"ddp\"\n[train]\ndevice = \"cuda\"\n[grid]\n"
      "batch.global = 8\ncomm.ranks = [1, 2]\n");
  place_points(p, {}, {.cores = 64, .gpus = 1}, false);
  EXPECT_EQ(p[0].mode, PointMode::timed);
  EXPECT_EQ(p[1].mode, PointMode::correctness);
}

TEST(Verify, RanksThatBeginWithAnotherLossAreFound) {
  const auto p = points(
      "[strategy]\nkind = \"ddp\"\n[[grid]]\nbatch.global = 8\n"
      "comm.ranks = [1, 2, 4]\n[[grid]]\ncomm.ranks = 2\nbatch.per_rank = 4\n"
      "train.seed = 2\n");
  const std::vector<FirstLoss> losses = {
      {&p[0], 2.3}, {&p[1], 2.3001}, {&p[2], 2.4}, {&p[3], 9}};
  const auto found = verify(losses);
  ASSERT_EQ(found.size(), 2u);  // the last has another seed: nothing to compare
  EXPECT_TRUE(found[0].agrees);
  EXPECT_FALSE(found[1].agrees);
  EXPECT_EQ(found[1].against, p[0].id);
}

TEST(Verify, ARankWithoutSamplesHasNoSayInTheFirstLoss) {
  const TempDir dir;
  RunFolder folder =
      RunFolder::create(dir.path / "run", RunConfig{}, Json::object());
  const std::vector<StepSample> steps = {
      {.rank = 0, .samples = 6, .loss = 2.0},
      {.rank = 1, .samples = 2, .loss = 4.0},
      {.rank = 2, .samples = 0, .loss = std::nan("")},
      {.step = 1, .rank = 0, .samples = 6, .loss = 9.0}};
  folder.append(steps, {}, {});
  EXPECT_EQ(first_loss_of(dir.path / "run"), 2.5);
}

}  // namespace
}  // namespace lockstep
