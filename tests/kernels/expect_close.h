// SPDX-License-Identifier: Apache-2.0
// What tests of kernels share: how near fp32 comes to the same in double.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace lockstep {

inline void expect_close(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LT((got - want).abs().max().item<double>(),
            1e-5 * (1 + want.abs().max().item<double>()));
}

}  // namespace lockstep
