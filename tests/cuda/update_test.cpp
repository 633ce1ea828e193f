// SPDX-License-Identifier: Apache-2.0
// The GPU's fused update against the CPU's, run by run and in one launch.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using UpdateOnGpu = GpuTest;

enum class Kind { sgd, adam, adamw, lars, lamb };
constexpr Kind kKinds[] = {Kind::sgd, Kind::adam, Kind::adamw, Kind::lars,
                           Kind::lamb};

bool has_square(Kind kind) { return kind != Kind::sgd && kind != Kind::lars; }

void update(Device& device, Kind kind, const UpdateArgs& args) {
  if (kind == Kind::sgd) return device.sgd(args);
  if (kind == Kind::lars) return device.lars(args);
  kind == Kind::lamb ? device.lamb(args) : device.adam(args);
}

UpdateArgs args_on(c10::Device device, std::int64_t numel, Kind kind) {
  torch::manual_seed(11);
  UpdateArgs args;
  args.values = at::randn({numel}).to(device);
  args.grads = at::randn({numel}).to(device);
  args.first = at::randn({numel}).to(device);
  if (has_square(kind)) args.second = at::rand({numel}).to(device);
  args.lr = 0.01, args.weight_decay = 0.1, args.grad_scale = 0.5;
  args.momentum = 0.9, args.nesterov = true;
  args.beta1 = 0.9, args.beta2 = 0.99, args.eps = 1e-8, args.step = 3;
  args.decoupled_decay = kind == Kind::adamw;
  args.trust = {.coefficient = 0.5, .clip = false};
  return args;
}

// Borders that fall between the places where four can be read at once.
std::vector<UpdateRun> odd_runs() {
  return {{0, 1, true, true, true},
          {1, 4098, false, true, true},
          {4099, 3, true, false, false},
          {4102, 9001, false, false, true}};
}

void expect_updates_near(const UpdateArgs& a, const UpdateArgs& b) {
  EXPECT_LT(distance(a.values, b.values), 1e-6);
  EXPECT_LT(distance(a.first, b.first), 1e-6);
  if (a.second.defined()) {
    EXPECT_LT(distance(a.second, b.second), 1e-6);
  }
  EXPECT_TRUE(at::equal(a.grads.cpu(), b.grads));
}

TEST_F(UpdateOnGpu, AgreesWithTheCpu) {
  const auto cpu = open_device("cpu");
  for (const Kind kind : kKinds)
    for (const bool rates : {false, true}) {
      SCOPED_TRACE(::testing::Message()
                   << "kind " << static_cast<int>(kind) << " rates " << rates);
      UpdateArgs ours = args_on(gpu().torch(), 13'103, kind);
      UpdateArgs theirs = args_on(at::kCPU, 13'103, kind);
      ours.runs = theirs.runs = odd_runs();
      if (rates) {
        ours.rates = at::empty({4}, ours.values.options());
        gpu().put_rates(ours);
        ours.lr = ours.grad_scale = 1e9;  // what is on the device counts
      }
      update(gpu(), kind, ours);
      update(*cpu, kind, theirs);
      expect_updates_near(ours, theirs);
    }
}

// A rank that updates a part of the parameters keeps state for it alone.
TEST_F(UpdateOnGpu, TakesPartsThatBeginAnywhere) {
  const auto cpu = open_device("cpu");
  for (const Kind kind : {Kind::adam, Kind::lamb})
    for (const std::int64_t state : {5, 6, 8}) {
      UpdateArgs ours = args_on(gpu().torch(), 9'000, kind);
      UpdateArgs theirs = args_on(at::kCPU, 9'000, kind);
      for (UpdateArgs* a : {&ours, &theirs}) {
        a->values = a->values.narrow(0, 5, 8'001);
        a->grads = a->grads.narrow(0, 5, 8'001);
        a->first = a->first.narrow(0, state, 8'001);
        a->second = a->second.narrow(0, state, 8'001);
        a->runs = {{0, 4'000, true, true, true}, {4'000, 4'001}};
      }
      update(gpu(), kind, ours);
      update(*cpu, kind, theirs);
      expect_updates_near(ours, theirs);
    }
}

}  // namespace
}  // namespace lockstep
