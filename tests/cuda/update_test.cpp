// SPDX-License-Identifier: Apache-2.0
// The GPU's fused update against the CPU's, run by run and in one launch.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

UpdateArgs args_on(c10::Device device, std::int64_t numel, bool adam) {
  torch::manual_seed(11);
  UpdateArgs args;
  args.values = at::randn({numel}).to(device);
  args.grads = at::randn({numel}).to(device);
  args.first = at::randn({numel}).to(device);
  if (adam) args.second = at::rand({numel}).to(device);
  args.lr = 0.01, args.weight_decay = 0.1, args.grad_scale = 0.5;
  args.momentum = 0.9, args.nesterov = true;
  args.beta1 = 0.9, args.beta2 = 0.99, args.eps = 1e-8, args.step = 3;
  return args;
}

// Borders that fall between the places where four can be read at once.
std::vector<UpdateRun> odd_runs() {
  return {{0, 1, true, true},
          {1, 4098, false, true},
          {4099, 3, true, false},
          {4102, 9001, false, false}};
}

void expect_near(const UpdateArgs& a, const UpdateArgs& b) {
  EXPECT_LT(distance(a.values, b.values), 1e-6);
  EXPECT_LT(distance(a.first, b.first), 1e-6);
  if (a.second.defined()) {
    EXPECT_LT(distance(a.second, b.second), 1e-6);
  }
  EXPECT_TRUE(at::equal(a.grads.cpu(), b.grads));
}

TEST(UpdateOnGpu, AgreesWithTheCpu) {
  const auto cpu = open_device("cpu");
  for (const bool adam : {false, true})
    for (const bool decoupled : {false, true})
      for (const bool rates : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "adam " << adam << " decoupled "
                                          << decoupled << " rates " << rates);
        UpdateArgs ours = args_on(gpu().torch(), 13'103, adam);
        UpdateArgs theirs = args_on(at::kCPU, 13'103, adam);
        ours.runs = theirs.runs = odd_runs();
        ours.decoupled_decay = theirs.decoupled_decay = decoupled && adam;
        if (rates) {
          ours.rates = at::empty({4}, ours.values.options());
          gpu().put_rates(ours);
          ours.lr = ours.grad_scale = 1e9;  // what is on the device counts
        }
        adam ? gpu().adam(ours) : gpu().sgd(ours);
        adam ? cpu->adam(theirs) : cpu->sgd(theirs);
        expect_near(ours, theirs);
      }
}

// A rank that updates a part of the parameters keeps state for it alone.
TEST(UpdateOnGpu, TakesPartsThatBeginAnywhere) {
  const auto cpu = open_device("cpu");
  for (const std::int64_t state : {5, 6, 8}) {
    UpdateArgs ours = args_on(gpu().torch(), 9'000, true);
    UpdateArgs theirs = args_on(at::kCPU, 9'000, true);
    for (UpdateArgs* a : {&ours, &theirs}) {
      a->values = a->values.narrow(0, 5, 8'001);
      a->grads = a->grads.narrow(0, 5, 8'001);
      a->first = a->first.narrow(0, state, 8'001);
      a->second = a->second.narrow(0, state, 8'001);
    }
    gpu().adam(ours);
    cpu->adam(theirs);
    expect_near(ours, theirs);
  }
}

}  // namespace
}  // namespace lockstep
