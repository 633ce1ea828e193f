// SPDX-License-Identifier: Apache-2.0
// What a recording that breaks leaves behind, on a device that makes it break.
// Recordings that succeed need a GPU: tests/cuda/step_graph_test.cpp.
#include "lockstep/strategy/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/comm/emulated_group.h"
#include "lockstep/core/error.h"
#include "tests/strategy/training.h"

namespace lockstep::testing {
namespace {

using ::testing::HasSubstr;

// A CPU that says it captures, runs what it is to record, and gives up at the
// second cut: in the middle of backward, with a bucket on its list.
class Breaking final : public Device {
 public:
  c10::Device torch() const override { return cpu_->torch(); }
  Json info() const override { return cpu_->info(); }
  void synchronize() override { cpu_->synchronize(); }
  TimeSource time_source() override { return cpu_->time_source(); }
  std::int64_t peak_memory_bytes() override { return 0; }
  void reset_peak_memory() override {}
  void allow_tf32(bool) override {}
  void search_kernels(bool) override {}
  at::Tensor random_state() override { return cpu_->random_state(); }
  void set_random_state(const at::Tensor& s) override {
    cpu_->set_random_state(s);
  }
  void sgd(const UpdateArgs& args) override { cpu_->sgd(with_rates(args)); }
  void adam(const UpdateArgs& args) override { cpu_->adam(with_rates(args)); }
  void lars(const UpdateArgs& args) override { cpu_->lars(with_rates(args)); }
  void lamb(const UpdateArgs& args) override { cpu_->lamb(with_rates(args)); }
  void put_rates(const UpdateArgs& args) override { lr_ = args.lr; }
  std::vector<std::unique_ptr<Captured>> capture(
      const std::function<void(const Cut&)>& work) override {
    int cuts = 0;
    work([&cuts]() -> bool {
      if (++cuts == 2) throw Error(Fault::device, "train.graph", "it broke");
      return true;
    });
    return {};  // a piece without a cut: a step that is timed has some
  }
  std::string cannot_capture() const override { return {}; }

 private:
  UpdateArgs with_rates(UpdateArgs args) const {
    args.lr = lr_;
    return args;
  }
  std::unique_ptr<Device> cpu_ = open_device("cpu");
  double lr_ = 0;
};

struct Went {
  at::Tensor values;
  std::vector<std::int64_t> buckets;  // of every message, in their order
  Json notes;
};

// Rank 0 of four, the others emulated.
Went train_on(Device& device, GraphUse graph) {
  Scene scene{.config = small_config(ModelKind::variable, StrategyKind::ddp),
              .steps = 4};
  scene.config.train.graph = graph;
  const auto group = make_emulated_group(
      4, [](Collective, std::int64_t, int) { return 1e-6; });
  Model model = draw_model(scene, 0);
  FlatParams params(*model.module);
  Optimizer optimizer(scene.config.optim, params, device);
  Recorder recorder(0, device.time_source(), {});
  const auto strategy =
      make_strategy({scene.config, model, params, device, *group, recorder});
  std::int64_t step = 0;
  for (const Batch& batch : batches_of(scene)) {
    recorder.begin_step(step, 0);
    strategy->step({.passes = {batch},
                    .global_samples = batch.samples,
                    .lr = scene.config.optim.lr,
                    .step = step++},
                   optimizer);
    recorder.end_step(1);
  }
  Went out{params.values().clone(), {}, strategy->notes()};
  for (const CommSample& m : recorder.collect(std::vector<double>(4)).messages)
    out.buckets.push_back(m.bucket);
  return out;
}

TEST(StepGraph, ARecordingThatBreaksInBackwardLosesNoBucket) {
  Breaking breaking;
  const auto cpu = open_device("cpu");
  const Went plain = train_on(*cpu, GraphUse::automatic);
  const Went broken = train_on(breaking, GraphUse::automatic);
  EXPECT_GE(plain.buckets.size(), 4u * 2);
  EXPECT_EQ(broken.buckets, plain.buckets);
  EXPECT_TRUE(at::equal(broken.values, plain.values));
  EXPECT_EQ(broken.notes.at("steps_replayed"), 0);
  EXPECT_EQ(broken.notes.at("steps_one_by_one"), 4);
  EXPECT_THAT(broken.notes.at("why_one_by_one").get<std::string>(),
              HasSubstr("it broke"));
}

TEST(StepGraph, ARecordingThatBreaksStopsTheRunThatInsistsOnIt) {
  Breaking breaking;
  EXPECT_THROW(train_on(breaking, GraphUse::on), Error);
}

TEST(StepGraph, OnACpuTheDeviceIsWhatCannotBeCaptured) {
  const auto cpu = open_device("cpu");
  const Went plain = train_on(*cpu, GraphUse::automatic);
  EXPECT_EQ(plain.notes.at("why_one_by_one"), cpu->cannot_capture());
}

}  // namespace
}  // namespace lockstep::testing
