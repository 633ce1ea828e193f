// SPDX-License-Identifier: Apache-2.0
#include "lockstep/optim/flat_buffers.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

namespace lockstep {
namespace {

TEST(FlatBuffers, AreViewsThatTheModuleGoesOnUsing) {
  torch::nn::BatchNorm1d norm(3);
  const FlatBuffers flat(*norm);
  ASSERT_EQ(flat.values().numel(), 6);  // the counter is not among them
  norm->train();
  norm->forward(torch::arange(6, at::kFloat).view({2, 3}));
  EXPECT_TRUE(at::equal(flat.values().slice(0, 0, 3), norm->running_mean));
  EXPECT_GT(flat.values().slice(0, 0, 3).abs().sum().item<float>(), 0);
  const at::NoGradGuard no_grad;
  flat.values().fill_(2);
  EXPECT_EQ(norm->running_var[1].item<float>(), 2);
}

TEST(FlatBuffers, TwoOfThemShareTheirMemory) {
  torch::nn::BatchNorm1d norm(3);
  const FlatBuffers first(*norm), second(*norm);
  EXPECT_EQ(first.values().data_ptr(), second.values().data_ptr());
  EXPECT_EQ(second.values().numel(), 6);
}

TEST(FlatBuffers, AModuleWithoutThemHasNone) {
  EXPECT_TRUE(FlatBuffers(*torch::nn::Linear(2, 2)).empty());
}

}  // namespace
}  // namespace lockstep
