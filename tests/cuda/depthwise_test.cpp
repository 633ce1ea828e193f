// SPDX-License-Identifier: Apache-2.0
// Reference: LibTorch's convolution in fp64 on the CPU.
#include "lockstep/kernels/depthwise.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include "tests/cuda/gpu.h"

namespace lockstep {
namespace {

using DepthwiseOnGpu = GpuTest;

void compare_depthwise(at::IntArrayRef sizes, std::int64_t stride) {
  SCOPED_TRACE(::testing::Message()
               << "sizes " << sizes << " stride " << stride);
  const at::Tensor x0 = random(sizes), w0 = random({sizes[1], 1, 3, 3});
  const auto half = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
  const at::Tensor x =
      x0.to(half).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const at::Tensor w = w0.to(at::kCUDA).requires_grad_();
  const at::Tensor rx = x0.to(at::kDouble).requires_grad_();
  const at::Tensor rw = w0.to(at::kDouble).requires_grad_();
  const at::Tensor want =
      at::conv2d(rx, rw, {}, stride, 1, 1, /*groups=*/sizes[1]);
  at::Tensor got;
  {
    const Autocast autocast;
    got = depthwise_conv3x3(x, w, stride);
  }
  EXPECT_NE(std::string(got.grad_fn()->name()).find("Depthwise"),
            std::string::npos)
      << got.grad_fn()->name();
  const at::Tensor g = random(want.sizes());
  want.backward(g.to(at::kDouble));
  got.backward(g.to(half).contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LT(distance(got, want), kBf16Once);
  EXPECT_LT(distance(x.grad(), rx.grad()), kBf16Once);
  EXPECT_LT(distance(w.grad(), rw.grad()), 1e-4);
}

TEST_F(DepthwiseOnGpu, AgreesWithLibTorch) {
  for (const std::int64_t stride : {1, 2}) {
    compare_depthwise({2, 32, 28, 28}, stride);
    compare_depthwise({3, 144, 7, 7}, stride);
    compare_depthwise({1, 960, 5, 3}, stride);
    compare_depthwise({2, 8, 1, 1}, stride);
    compare_depthwise({5, 24, 9, 14}, stride);
  }
}

}  // namespace
}  // namespace lockstep
