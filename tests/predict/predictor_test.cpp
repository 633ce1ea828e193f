// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/predictor.h"

#include <gtest/gtest.h>

#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

constexpr const char* kRecipe = R"(
[model]
kind = "linear"
[data]
kind = "synthetic"
resident = true
[batch]
per_rank = 10
[train]
device = "cuda"
)";

Subject recipe(std::vector<std::string> sets = {}) {
  return subject_of(parse_config(kRecipe, "recipe", sets));
}

Question of(Method method, int ranks) {
  Question q = recipe().asked;
  q.method = method, q.ranks = ranks;
  return q;
}

std::string software(const Subject& subject, const Cluster& on,
                     const Question& q) {
  return Predictor(subject, on)(q).question.software.name;
}

TEST(Predictor, StepsAreRecordedWhereTheTrainerRecordsThem) {
  const Cluster gpus = find_cluster("dgx-1v");
  const Question alone = of(Method::single, 1), ddp = of(Method::ddp, 4);
  EXPECT_EQ(software(recipe(), gpus, alone), "lockstep-graph");
  EXPECT_EQ(software(recipe(), gpus, ddp), "lockstep-graph");
  EXPECT_EQ(software(recipe(), gpus, of(Method::sharded, 4)), "lockstep");
  EXPECT_EQ(software(recipe({"train.graph=off"}), gpus, alone), "lockstep");
  EXPECT_EQ(software(recipe({"optim.kind=lamb"}), gpus, ddp), "lockstep-graph");
  const Subject held = recipe({"measure.hold_every=8"});
  EXPECT_EQ(software(held, gpus, alone), "lockstep-graph");
  EXPECT_EQ(software(held, gpus, ddp), "lockstep");
  Cluster cpus = gpus;
  cpus.device.gpu = false;
  EXPECT_EQ(software(recipe(), cpus, alone), "lockstep");
}

// The step of seed 000's linear model on one H200, fp32: 0.33 ms in
// results/study_stevens_1xh200_2026-11, where every part is timed.
TEST(Predictor, ASmallStepOfAGpuIsNotPricedByTheHost) {
  Cluster h200;
  h200.device = find_device("H200");
  const Prediction p = Predictor(recipe(), h200)(of(Method::single, 1));
  EXPECT_GT(p.time.step_s, 0.15e-3);
  EXPECT_LT(p.time.step_s, 0.40e-3);
}

TEST(Predictor, SpeedUpsAreOverTheFasterStepOfOneRank) {
  const Cluster gpus = find_cluster("dgx-1v");
  const Subject subject = recipe();
  const double one_s =
      Predictor(subject, gpus)(of(Method::single, 1)).time.step_s;
  const Prediction p = Predictor(subject, gpus)(of(Method::sharded, 4));
  EXPECT_NEAR(p.speedup, 4 * one_s / p.time.step_s, 1e-9);
}

// Ranks without a spare core carry messages in the time they would compute.
TEST(Predictor, NothingHidesOnALinkThatWasSeenToHideNothing) {
  Cluster c = find_cluster("dgx-1v");
  c.device.gpu = false;
  const Subject subject = recipe({"model.kind=resnet18"});
  Question q = of(Method::ddp, 2);
  q.batch = 64;
  const Prediction usual = Predictor(subject, c)(q);
  c.inside->contention = 99;
  const Prediction serial = Predictor(subject, c)(q);
  EXPECT_LT(usual.time.exposed_comm_s, 0.7 * usual.time.comm_s);
  EXPECT_NEAR(serial.time.exposed_comm_s, serial.time.comm_s,
              0.02 * serial.time.comm_s);
  EXPECT_GT(serial.time.step_s, usual.time.step_s);
}

TEST(Predictor, DataOnTheDeviceCostNoCopy) {
  Cluster h200;
  h200.device = find_device("H200");
  const Subject subject = recipe({"train.precision=bf16"});
  Predictor ask(subject, h200);
  Question q = of(Method::single, 1);
  q.batch = 6000;
  EXPECT_EQ(ask(q).time.input_wait_s, 0);
  q.resident = false;
  EXPECT_GT(ask(q).time.input_wait_s, 0);
}

}  // namespace
}  // namespace lockstep
